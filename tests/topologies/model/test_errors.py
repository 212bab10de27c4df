# SPDX-License-Identifier: Apache-2.0
from topologies import RailyardError, TopologyError


def test_an_error_says_what_and_what_to_do() -> None:
    error = TopologyError("rate is 0", remedy="give one above 0")
    assert isinstance(error, RailyardError)
    assert str(error) == "rate is 0; give one above 0"
    assert (error.message, error.remedy) == ("rate is 0", "give one above 0")


def test_without_a_remedy_the_message_stands_alone() -> None:
    assert str(RailyardError("no")) == "no"
