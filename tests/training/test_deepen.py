import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from training.deepen import deepen


@pytest.fixture
def llama():
    torch.manual_seed(0)
    shape = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    return AutoModelForCausalLM.from_config(LlamaConfig(**shape)).eval()


def test_new_layers_change_nothing_at_first_and_then_learn(llama):
    ids = torch.arange(10)[None]
    before = llama(ids).logits
    deepen(llama, 2)
    after = llama(ids).logits
    assert len(llama.model.layers) == llama.config.num_hidden_layers == 4
    torch.testing.assert_close(after, before)
    after.pow(2).mean().backward()
    assert all(layer.mlp.down_proj.weight.grad.abs().sum() > 0 for layer in llama.model.layers)


def test_a_deepened_model_is_saved_and_loaded_like_any_other(llama, tmp_path):
    deepen(llama, 1)
    torch.nn.init.normal_(llama.model.layers[-1].mlp.down_proj.weight)
    llama.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    ids = torch.arange(10)[None]
    torch.testing.assert_close(again(ids).logits, llama(ids).logits)
    torch.testing.assert_close(
        again.generate(ids, max_new_tokens=4, do_sample=False), llama.generate(ids, max_new_tokens=4, do_sample=False)
    )
