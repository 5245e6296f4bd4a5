"""The configs of `ttc train`."""

from pathlib import Path

import pytest

from training.config import PocketReplies, StepVerifierTraining, validate
from ttc.errors import UserError
from ttc.settings import read_yaml

SHIPPED = sorted((Path(__file__).parents[2] / "configs/train").glob("*.yaml"))
LEAST = {"base": {"model": "pocket"}, "data": {"kind": "pocket"}}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_config_is_valid(path):
    validate(read_yaml(path), str(path))


def test_the_pocket_verifier_trains_all_weights_on_the_pocket_models_own_replies():
    [path] = [path for path in SHIPPED if path.stem == "pocket_step_verifier"]
    config = validate(read_yaml(path), str(path))
    assert isinstance(config, StepVerifierTraining)
    assert (config.lora, config.base.model) == (None, "pocket")
    assert isinstance(config.data, PocketReplies)
    assert config.data.backend.model == "pocket"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 1}, "config here: unknown key 'learning_rate'; did you mean 'optimisation.learning_rate'"),
        ({"optimisation": {"batch": 10, "micro_batch": 4}}, "batch=10 is no multiple of micro_batch=4"),
        ({"base": {"model": "pocket", "adapter": "there"}}, "merge the adapter"),
        ({"data": {"kind": "chains", "train": "a", "dev": "b", "benchmarks": []}}, "data.chains.benchmarks"),
    ],
)
def test_a_wrong_setting_is_one_line_with_its_place(change, message):
    with pytest.raises(UserError, match=message) as caught:
        validate({**LEAST, **change}, "here")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_config_is_refused(tmp_path):
    (tmp_path / "list.yaml").write_text("- 1")
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2")
    told = {"list": "expected a mapping", "broken": "not valid YAML", "absent": "No such file", "twice": "'a' stands twice"}
    for name, message in told.items():
        with pytest.raises(UserError, match=message):
            read_yaml(tmp_path / f"{name}.yaml")
