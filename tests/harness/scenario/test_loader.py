from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.run.prepare import prepare
from harness.scenario.document import Document
from harness.scenario.loader import load, read

Write = Callable[[str], Path]

HEAD = "name: small\ntopology: {name: full-mesh, dims: [4, 4]}\n"


def test_a_variant_repeats_only_what_it_changes(write: Write):
    scenario, _ = load(
        write(
            HEAD
            + "routing: {strategy: shortest, notification: flooding}\n"
            + "faults: [{at_us: 1, link: npu0-npu1}]\n"
            + "variants: [{name: same}, {name: other, routing: {notification: direct}, faults: []}]\n"
        )
    )
    same, other = scenario.variants
    assert (same.routing.strategy, same.routing.notification) == ("shortest", "flooding")
    assert (other.routing.strategy, other.routing.notification) == ("shortest", "direct")
    assert [fault.link for fault in same.faults] == ["npu0-npu1"]
    assert other.faults == ()


def test_a_fault_in_merged_keys_is_named_with_the_line_on_which_it_stands(write: Write):
    wrong = "collective: {elements: 10, colour: red}"
    text = HEAD + f"variants:\n  - &one {{name: one, {wrong}}}\n  - {{name: two, <<: *one}}\n"
    with pytest.raises(ScenarioError) as error:
        load(write(text))
    assert [line.split(":")[1] for line in str(error.value).splitlines()] == ["4", "4"]


def test_a_scenario_without_variants_is_one_variant(write: Write):
    scenario, _ = load(write(HEAD + "collective: {elements: 10}\n"))
    assert [(variant.name, variant.collective.elements) for variant in scenario.variants] == [("run", 10)]


def test_numbers_keep_their_value_and_lose_their_spelling(write: Write):
    scenario, _ = load(write(HEAD + "collective: {elements: 1_000}\nlink: {detect_us: 1e-1}\n"))
    assert repr(scenario.variants[0].collective.elements) == "1000"
    assert repr(scenario.variants[0].link.detect_us) == "0.1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sede: 3\n", ":3: unknown key 'sede'; did you mean 'seed'?"),
        ("routing: {stratgy: shortest}\n", ":3: unknown key 'stratgy' in routing; did you mean 'strategy'?"),
        (
            "routing:\n  strategy: shortes\n",
            ":4: routing.strategy: 'shortes' is not known; did you mean 'shortest'?",
        ),
        ("routing: 5\n", ":3: routing: 5 is not a block of keys"),
        ("collective: {elements: 1.5}\n", ":3: collective.elements: 1.5 is not a whole number"),
        ("collective: {elements: true}\n", ":3: collective.elements: true is not a whole number"),
        ("collective: {elements: 0}\n", ":3: collective.elements: 0 must be at least 1"),
        ("collective: {payload_bytes: 6}\n", ":3: collective.payload_bytes: 6 must be a multiple of 4"),
        ("link: {detect_us: .inf}\n", ":3: link.detect_us: inf is not a finite number"),
        ("faults: [{link: npu0-npu1}]\n", ":3: faults[0].at_us is missing; add `at_us:`"),
        (
            "faults: [{at_us: 0, link: npu0-npu1}]\n",
            ":3: faults[0].at_us: 0 is the begin of the run, and a fault",
        ),
        ("variants: []\n", ":3: variants is empty; give at least 1"),
        ("variants: [{name: a}, {name: a}]\n", ":3: two variants are called 'a'; give each a different name"),
        (
            "variants: [{name: A b}]\n",
            ":3: variants[0].name: 'A b' is not a name; use small letters, digits, - and _",
        ),
        (
            "variants:\n  - name: a\n    faults:\n      - {at_us: 1, link: 7}\n",
            ":6: variants[0].faults[0].link: 7 is not text",
        ),
        (
            "assertions: [{metric: run.completion_uss, max: 1}]\n",
            ":3: there is no metric 'run.completion_uss'; did you mean 'run.completion_us'?",
        ),
        (
            "assertions: [{metric: run.completion_us, max: {metric: nothing}}]\n",
            ":3: there is no metric 'nothing'; see `railyard list --metrics`",
        ),
        (
            "assertions: [{metric: run.completion_us}]\n",
            ":3: assertions[0]: an assertion needs exactly one of `max:`, `min:` and `equals:`",
        ),
        ("assertions: [{metric: run.npus, max: many}]\n", ":3: assertions[0].max: 'many' is not a number"),
        ("control: {lacp_us: 1.0e-7}\n", ":3: control.lacp_us: 1e-07 must be at least 0.001"),
        ("control: {hello_us: 1.0e+24}\n", ":3: control.hello_us: 1e+24 must be at most 1e+09"),
        (
            "name: again\n",
            ':3: the file is not YAML: found duplicate key "name" with value "again" (original value: "',
        ),
        ("variants: [\n", ":4: the file is not YAML: "),
        (
            "assertions: [{metric: run.faults[0].detected_us, max: 1}]\n",
            ":3: the file is not YAML: expected ',' or '}', but got '['; put a value with brackets in quotes",
        ),
    ],
)
def test_a_fault_is_named_with_its_line(write: Write, text: str, expected: str):
    path = write(HEAD + text)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert f"{path}{expected}" in str(caught.value)


def test_a_fault_that_every_variant_shares_is_reported_once_on_its_line(write: Write):
    path = write(HEAD + "link: {credit_bytes: -1}\nvariants: [{name: a}, {name: b}, {name: c}]\n")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:3: link.credit_bytes: -1 must be at least 1"


def test_all_faults_are_reported_in_the_order_of_the_file(write: Write):
    path = write("name: small\nsede: 1\ntopology: {nam: x}\nlink: {detect_us: soon}\n")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    lines = [line.removeprefix(f"{path}:").split(":")[0] for line in str(caught.value).splitlines()]
    assert lines == ["2", "3", "3", "4"]


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ("{name: ub-rak, colour: red}", ["2: no topology named 'ub-rak'; did you mean ub-rack"]),
        ("{name: full-mesh}", ["2: topology full-mesh: dims is missing; give dims: nodes in each dimension"]),
        (
            "\n  name: ub-rack\n  lanse: 4\n  delay_ns: -1\n",
            [
                "4: topology ub-rack: no parameter named 'lanse'; did you mean 'lanes'? parameters of",
                "5: topology ub-rack: delay_ns is -1; give a number of at least 0",
            ],
        ),
        ("{name: full-mesh, dims: [4, two]}", ["2: topology full-mesh: dims is [4, 'two']; give a list of"]),
        ("{name: rail-only, inside: tube}", ["2: topology rail-only: inside is 'tube'; give mesh or switch"]),
        ("{name: 3}", ["2: topology.name: 3 is not text"]),
        ("ub-rack", ["2: topology: 'ub-rack' is not a block of keys"]),
    ],
)
def test_a_topology_is_checked_by_the_declaration_of_its_family(
    write: Write, topology: str, expected: list[str]
):
    path = write(f"name: small\ntopology: {topology}\n")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    lines = [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    assert len(lines) == len(expected)
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True)), lines


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text\n", "3\n"])
def test_a_file_that_is_no_scenario_is_refused(write: Write, text: str):
    with pytest.raises(
        ScenarioError, match="the file is not a scenario, because it is not a block of keys; start with"
    ):
        load(write(text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path):
    with pytest.raises(ScenarioError, match="the file does not exist"):
        load(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="directory"):
        load(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="not UTF-8 text"):
        load(binary)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "topology: {name: full-mesh, dims: [2, 2]}\nfaults: [{at_us: 1, link: npu0-npu9}]\n",
            r":3: .*'npu0-npu9'",
        ),
        (
            "topology: {name: full-mesh, dims: [2, 2, 2]}\ncollective: {algorithm: ring}\n",
            r":3: .*\(2, 2, 2\)",
        ),
        (
            "topology: {name: full-mesh, dims: [2, 2]}\ntransport: {min_rto_us: 1}\n",
            r":3: transport: ack_delay_ps",
        ),
    ],
)
def test_what_cannot_be_is_found_before_anything_starts(write: Write, text: str, expected: str):
    scenario, document = load(write("name: small\n" + text))
    with pytest.raises(ScenarioError, match=expected):
        prepare(scenario, document)


def test_variants_that_differ_in_faults_only_share_a_plan(scenario_file: Path):
    scenario, document = load(scenario_file)
    planned: list[str] = []
    healthy, cut = prepare(scenario, document, planned.append)
    assert healthy.plan is cut.plan
    assert planned == ["healthy"]


def test_values_without_a_file_are_checked_alike_and_named_by_key():
    values = {
        "name": "small",
        "topology": {"name": "full-mesh", "dims": [2, 2]},
        "faults": [{"at_us": 0.1, "link": "npu0-npu1"}],
    }
    scenario, document = read(Document.of_values(values))
    assert scenario.topology.parameters["dims"] == (2, 2)
    assert prepare(scenario, document)[0].fabric.dims == (2, 2)
    with pytest.raises(ScenarioError, match=r"^unknown key 'sede'; did you mean 'seed'\?$"):
        read(Document.of_values({**values, "sede": 3}))
    wrong = {**values, "faults": [{"at_us": 0.1, "link": "npu0-npu9"}]}
    with pytest.raises(ScenarioError, match=r"^faults\[0\]\.link: .*no link named 'npu0-npu9'"):
        prepare(*read(Document.of_values(wrong)))
