"""Lab 8: which job sends first."""

from itertools import product

STARVED = 0.2


def levels(jobs, number_of_levels):
    """Return the levels that do most work in the model, among those by which no job starves."""
    every = product(range(number_of_levels), repeat=len(jobs))
    results = [(chosen, *simulate(jobs, chosen)) for chosen in every if 0 in chosen]
    fair = [result for result in results if result[2] >= STARVED]
    chosen, _, _ = max(fair, key=lambda result: result[1]) if fair else max(results, key=lambda r: r[2])
    return {job["name"]: level for job, level in zip(jobs, chosen, strict=True)}


def iteration(job):
    """Return the time of an iteration alone."""
    sending = max(job["sends_us"].values())
    return max(job["compute_us"], (1 - job["overlap"]) * job["compute_us"] + sending)


def simulate(jobs, chosen):
    """Return the work until a fixed time, and the least share of its own computation that a job has."""
    until = 6 * max(map(iteration, jobs))
    states = [State(job, level) for job, level in zip(jobs, chosen, strict=True)]
    now = 0.0
    while now < until - 1e-6:
        speeds(states)
        step = min(until - now, *(state.next_event() for state in states))
        for state in states:
            state.advance(step)
        now += step
    shares = [state.computed / (until * state.job["compute_us"] / iteration(state.job)) for state in states]
    return sum(state.job["gpus"] * state.computed for state in states), min(shares)


class State:
    """Progress of a job in its iteration."""

    def __init__(self, job, level):
        self.job, self.level = job, level
        self.computed = 0.0
        self.begin()

    def begin(self):
        self.head = (1 - self.job["overlap"]) * self.job["compute_us"]
        self.tail = self.job["compute_us"]
        self.left = max(self.job["sends_us"].values())
        self.speed = 0.0

    @property
    def sends(self):
        return self.head <= 0 and self.left > 0

    def next_event(self):
        times = [time for time in (self.head, self.tail) if time > 0]
        if self.sends and self.speed > 0:
            times.append(self.left / self.speed)
        return min(times, default=1e9)

    def advance(self, step):
        self.computed += min(step, self.tail)
        if self.sends:
            self.left = less(self.left, self.speed * step)
        self.head, self.tail = less(self.head, step), less(self.tail, step)
        if not (self.head or self.tail or self.left):
            self.begin()


def less(left, amount):
    """Return what is left, without the rest that rounding leaves."""
    return left - amount if left - amount > 1e-9 else 0.0


def speeds(states):
    """Give each sending job its speed: what the levels before it leave of its links, shared evenly."""
    room = {}
    for level in sorted({state.level for state in states}):
        waiting = [state for state in states if state.level == level and state.sends]
        for state in waiting:
            rivals = {
                link: sum(link in other.job["sends_us"] for other in waiting)
                for link in state.job["sends_us"]
            }
            state.speed = min(room.get(link, 1.0) / count for link, count in rivals.items())
        for state in waiting:
            for link in state.job["sends_us"]:
                room[link] = max(0.0, room.get(link, 1.0) - state.speed)
