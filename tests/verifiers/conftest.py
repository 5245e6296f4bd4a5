"""A small text model of random weights, whose tokenizer joins what real ones join."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved text model of random weights with a tokenizer that joins ".\\n\\n" into one token, as Qwen's do."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny_llama")
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|user|>", "<|assistant|>", "<|mark|>"]
    corpus = ["Add them.\n\n", "so + 3 - 2 = 4.\n\n", "### Question:\n", "\n\n### Solution Process:\n"] * 50
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet))
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token=special[0], eos_token=special[0], extra_special_tokens=special[1:]
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=512, initializer_range=0.2, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder
