"""Reward models: how they are written, which instances they accept, and what they make of them."""

import numpy as np
import pytest

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.lab import (
    Bernoulli,
    Deterministic,
    Gaussian,
    Instance,
    Kumaraswamy,
    Table,
    Votes,
    captions,
    from_table,
    parse_rewards,
    poly,
)

UNIT = Instance("unit", [0.0, 0.25, 1.0], [[4, 0, 0], [3, 0, 1], [0, 2, 2]])
COIN = "arm,value,probability\n1,0,0.5\n1,1,0.5\n"


def table_file(folder, text):
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("spec", "model", "sigma"),
    [
        ("gaussian:0.25", Gaussian(0.25), 0.25),
        ("gaussian:1", Gaussian(1), 1.0),
        ("gaussian:0", Gaussian(0.0), 0.0),
        ("gaussian:1e-05", Gaussian(1e-5), 1e-5),
        ("none", Deterministic(), 0.0),
        ("bernoulli", Bernoulli(), 0.5),
        ("kumaraswamy", Kumaraswamy(), 0.3),
        ("votes", Votes(), 0.5),
    ],
)
def test_a_spec_names_a_model_and_the_model_its_spec(spec, model, sigma):
    assert parse_rewards(spec) == model
    assert model.spec == spec
    assert model.sigma == sigma


def test_other_ways_to_write_a_sigma_lead_to_one_spec():
    assert {parse_rewards(spec).spec for spec in ("gaussian:.5", "gaussian:0.50", "gaussian:5e-1")} == {"gaussian:0.5"}
    assert parse_rewards("gaussian:-0").spec == "gaussian:0"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "cauchy",
            "'cauchy', but must be one of gaussian:SIGMA, none, bernoulli, kumaraswamy, votes, table:FILE.csv, scores",
        ),
        ("", "rewards is '', but must be one of gaussian:SIGMA"),
        ("Bernoulli", "rewards is 'Bernoulli', but must be one of"),
        ("gaussian", "rewards is 'gaussian', but gaussian needs its sigma, .*: write gaussian:0.25"),
        ("gaussian:", "gaussian needs its sigma"),
        ("gaussian:wide", "'gaussian:wide', but gaussian needs its sigma, a finite number of at least 0"),
        ("gaussian:-0.5", "'gaussian:-0.5', but gaussian needs its sigma"),
        ("gaussian:nan", "gaussian needs its sigma"),
        ("gaussian:inf", "gaussian needs its sigma"),
        ("bernoulli:0.5", "bernoulli takes nothing after a colon: write bernoulli"),
        ("none:", "none takes nothing after a colon: write none"),
        ("table", "table needs a file: write table:FILE.csv"),
        ("scores", "scores needs a file: write scores:FILE.csv"),
        ("table:", "table needs a file"),
    ],
)
def test_a_spec_that_names_no_model_is_refused(spec, message):
    with pytest.raises(InvalidInput, match=message):
        parse_rewards(spec)


@pytest.mark.parametrize("sigma", [-1, -1e-300, float("nan"), float("inf"), "0.5", None, True])
def test_a_sigma_must_be_a_finite_number_of_at_least_zero(sigma):
    with pytest.raises(InvalidInput, match=r"sigma is .*, but must be a finite number of at least 0"):
        Gaussian(sigma)


@pytest.mark.parametrize("make", [Gaussian, lambda sigma: parse_rewards(f"gaussian:{sigma}")])
def test_a_sigma_whose_square_would_not_be_finite_is_refused(make):
    with pytest.raises(InvalidInput, match=r"sigma is 3e\+159, but must be below 1e\+150: scale the means and"):
        make(3e159)
    assert make(9.9e149).sigma == 9.9e149


def test_a_value_whose_square_would_not_be_finite_is_refused():
    with pytest.raises(InvalidInput, match=r"arm 2 has value -1e\+150, but values must be below 1e\+150 in size"):
        Table([[0.0], [-1e150]], [[1.0], [1.0]])


@pytest.mark.parametrize("model", [Bernoulli(), Kumaraswamy()])
@pytest.mark.parametrize("value", [-0.001, 1.5])
def test_means_outside_the_unit_interval_are_refused_by_arm_and_value(model, value):
    with pytest.raises(
        InvalidInput, match=rf"arm 3 of the instance odd has mean {value}, but {model.spec} rewards need"
    ):
        model.source(Instance("odd", [0.0, 1.0, value, 7.0]))
    with pytest.raises(InvalidInput, match="arm 2 of the instance poly"):
        model.source(poly())
    assert model.source(UNIT).means.tolist() == [0.0, 0.25, 1.0]


@pytest.mark.parametrize("model", [Gaussian(0.1), Deterministic()])
def test_gaussian_and_noiseless_rewards_take_any_means(model):
    assert (model.source(poly(100)).means == poly(100).means).all()


def test_votes_need_counts():
    with pytest.raises(InvalidInput, match="captions has no counts of votes: use --means with a contest summary"):
        Votes().source(captions())


def test_votes_replace_the_means_by_the_average_answer():
    source = Votes().source(UNIT)
    assert source.means.tolist() == [0.0, 0.25, 0.75]
    assert source.values.tolist() == [[0.0, 0.5, 1.0]] * 3
    assert source.cumulative.tolist() == [[1.0, 1.0, 1.0], [0.75, 0.75, 1.0], [0.0, 0.5, 1.0]]


def test_a_table_replaces_the_means_by_its_expectations():
    table = Table([[0, 10], [4, 4]], [[0.75, 0.25], [0.5, 0.5]])
    source = table.source(Instance("two", [0.9, 0.1]))
    assert source.means.tolist() == [2.5, 4.0]
    assert source.cumulative.tolist() == [[0.75, 1.0], [0.5, 1.0]]
    assert table.sigma == 5.0
    instance = table.instance()
    assert (instance.name, instance.means.tolist()) == ("table", [2.5, 4.0])


def test_the_noise_level_of_a_table_leaves_out_what_cannot_come():
    assert Table([[0, 1, 1000]], [[0.5, 0.5, 0.0]]).sigma == 0.5


def test_cumulative_probabilities_end_at_one_exactly():
    thirds = Table([[1, 2, 3, 4, 9, 9]], [[0.1, 0.2, 0.3, 0.4 + 9e-10, 0, 0]])
    tenths = Table([range(10)], [[0.1] * 10])
    for table in (thirds, tenths):
        cumulative = table.source(table.instance()).cumulative[0]
        assert cumulative[-1] == 1.0
        assert (np.diff(cumulative) >= 0).all()
    assert thirds.source(thirds.instance()).cumulative[0, 3:].tolist() == [1.0, 1.0, 1.0]
    assert tenths.source(tenths.instance()).cumulative[0, 8] < 1.0


@pytest.mark.parametrize(
    ("values", "probabilities", "message"),
    [
        ([[1, 2]], [[0.5, 0.6]], "arm 1 has probabilities that sum to 1.1, but they must sum to 1"),
        ([[1, 2], [1, 2]], [[0.5, 0.5], [0.5, 0.5 + 1e-8]], "arm 2 has probabilities that sum to 1.00000001"),
        ([[1, 2]], [[1.5, -0.5]], "arm 1 has value 2.0 with probability -0.5"),
        ([[1, np.nan]], [[0.5, 0.5]], "arm 1 has value nan with probability 0.5"),
        ([[1, 2]], [[0.5, np.nan]], "arm 1 has value 2.0 with probability nan"),
        ([[1, np.inf]], [[1.0, 0.0]], "arm 1 has value inf"),
        ([[1, 2]], [[1.0]], r"shapes \(1, 2\) and \(1, 1\), but must have one shape"),
        ([], [], "but must have one shape, a row for each arm"),
        ([[]], [[]], "at least one column"),
        ([1, 2], [0.5, 0.5], "a row for each arm"),
        ([[1], [1, 2]], [[1], [0.5, 0.5]], "but must be rows of numbers, all of one length"),
        ([["a"]], [[1]], "but must be rows of numbers"),
    ],
)
def test_a_table_that_is_no_law_is_refused(values, probabilities, message):
    with pytest.raises(InvalidInput, match=message):
        Table(values, probabilities)


def test_a_table_is_read_in_any_order_of_rows(tmp_path):
    path = table_file(tmp_path, "probability,arm,note,value\r\n0.5,2,x,3\r\n1,1,y,7\r\n0.5,2,z,5\r\n")
    table = from_table(path)
    assert table.values.tolist() == [[7.0, 0.0], [3.0, 5.0]]
    assert table.probabilities.tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert table.spec == f"table:{path}"
    assert parse_rewards(f"table:{path}").instance().means.tolist() == [7.0, 4.0]


def test_a_table_is_normalised_within_the_rounding_of_written_decimals(tmp_path):
    rows = "".join(f"1,{value},0.3333333333\n" for value in range(3))
    table = from_table(table_file(tmp_path, "arm,value,probability\n" + rows))
    assert table.probabilities.sum() == pytest.approx(1, abs=1e-15)


def test_a_table_must_have_the_instances_number_of_arms(tmp_path):
    table = from_table(table_file(tmp_path, COIN))
    with pytest.raises(InvalidInput, match="has 1 arms, but the instance unit has 3"):
        table.source(UNIT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,value\n1,2\n", "has the columns arm, value, but must have arm, value, probability"),
        ("arm,value,probability\n", "has a header and no rows"),
        ("", "is empty"),
        ("arm,value,probability\n1,x,1\n", r"row 1 \(line 2\): value is 'x', but must be a finite number"),
        ("arm,value,probability\n1,0,nan\n", "probability is 'nan', but must be a finite number"),
        ("arm,value,probability\n0,0,1\n", "arm is '0', but must be a whole number from 1"),
        ("arm,value,probability\n1.5,0,1\n", "arm is '1.5', but must be a whole number"),
        ("arm,value,probability\n1,0,1\n3,0,1\n", "has no row for arm 2, but must have some for each arm from 1 to 3"),
        ("arm,value,probability\n9e15,0,1\n", "has no row for arm 1"),
        (
            "arm,value,probability\n1,0,1.5\n1,1,-0.5\n",
            r"row 2 \(line 3\): probability is -0.5, but must be at least 0",
        ),
        (
            "arm,value,probability\n1,0,0.4\n1,1,0.5\n",
            "arm 1 has probabilities that sum to 0.9, but they must sum to 1",
        ),
    ],
)
def test_a_table_file_that_is_none_is_refused(tmp_path, text, message):
    path = table_file(tmp_path, text)
    with pytest.raises(UnreadableData, match=message) as caught:
        parse_rewards(f"table:{path}")
    assert str(path) in str(caught.value)


def test_a_table_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UnreadableData, match=r"missing.csv cannot be read \(No such file or directory\)"):
        parse_rewards(f"table:{tmp_path / 'missing.csv'}")


def test_scores_that_are_known_are_drawn_with_equal_chances(tmp_path):
    path = table_file(tmp_path, "prompt,e1,e2,e3\nbe brief,1,0,0.5\nbe kind,1,,0\n")
    table = parse_rewards(f"scores:{path}")
    assert table.instance().means.tolist() == [0.5, 0.5]
    assert table.values[1].tolist() == [1.0, 0.0, 0.0]
    assert table.probabilities[1].tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,e1\nbe brief,1\nbe kind,\n", r"row 2 \(line 3\) has no scores, but every arm must have one"),
        ("prompt,e1\nbe brief,good\n", "e1 is 'good', but must be a finite number"),
        ("prompt\nbe brief\n", "has no scores, but every arm must have one"),
    ],
)
def test_scores_that_cannot_be_drawn_are_refused(tmp_path, text, message):
    with pytest.raises(UnreadableData, match=message):
        parse_rewards(f"scores:{table_file(tmp_path, text)}")


def test_models_and_tables_are_frozen():
    table = Table([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 2
    with pytest.raises(AttributeError):
        Gaussian(0.5).sigma = 1.0
    source = table.source(table.instance())
    source.values[0, 0] = 2.0  # a source is its own copy
    assert table.values[0, 0] == 1.0
