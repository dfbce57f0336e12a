"""Prices are known or None; tokens are estimated by one rule that never shrinks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.models.making import SCHEMA, asking, endpoint_at

from merrow_runtime.models.offline import OfflineEndpoint
from merrow_runtime.models.prices import Price, PriceTable, packaged_prices, price_at, price_of, read_price
from merrow_runtime.models.tokens import EXPECTED_COMPLETION, estimate_call, estimate_tokens, prompt_tokens
from merrow_runtime.requests import AnswerSchema, Message, ModelRequest
from merrow_runtime.usage import Usage

OPENAI = "https://api.openai.com"
ENDPOINT = OfflineEndpoint()


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-5-chat-latest", "gpt-5-chat"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-audio-preview", None),
        ("gpt-4o-mini-tts", None),
        ("gpt-5-pro-max", None),
        ("gpt-4o-", None),
        ("", None),
        ("llama3", None),
    ],
)
def test_a_dated_name_has_the_price_of_its_model_and_any_other_none(model: str, known: str | None) -> None:
    expected = None if known is None else packaged_prices().prices[OPENAI][known]
    assert price_of(OPENAI, model) == expected
    assert price_of("http://localhost:11434", model) is None
    assert price_of("https://openrouter.ai", model) is None


def test_all_packaged_prices_are_sensible() -> None:
    for models in packaged_prices().prices.values():
        for model, price in models.items():
            assert 0 < price.input < price.output or (price.output == 0 and "embedding" in model), model
            assert price.cached_input is None or 0 < price.cached_input < price.input, model


def test_the_longest_pattern_counts_and_the_users_prices_go_first() -> None:
    table = PriceTable({OPENAI: {"gpt-4o*": Price(1, 2), "*": Price(3, 4), "gpt-4o-mini": Price(5, 6)}})
    assert table.price_of(OPENAI, "gpt-4o-audio-preview") == Price(1, 2)
    assert table.price_of(OPENAI, "anything") == Price(3, 4)
    merged = table.over(packaged_prices())
    assert merged.price_of(OPENAI, "gpt-4o-mini-2024-07-18") == Price(5, 6)
    assert merged.price_of(OPENAI, "o3") == price_of(OPENAI, "o3")


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(-5, 2 * 10**7))
def test_a_cost_lies_between_all_cached_and_none_cached(prompt: int, completion: int, cached: int) -> None:
    price = Price(2.0, 8.0, 0.5)
    usage = Usage(prompt, completion)
    cost = price.cost(usage, cached)
    assert price.cost(usage, prompt) <= cost <= price.cost(usage)
    assert price.cost(usage) == pytest.approx((2 * prompt + 8 * completion) / 1e6)
    assert Price(2.0, 8.0).cost(usage, cached) == price.cost(usage)


async def test_an_endpoint_answers_for_its_prices() -> None:
    assert price_at(OfflineEndpoint(), "gpt-4o") == Price(0, 0, 0)
    mine = PriceTable({"http://127.0.0.1:9": {"*": Price(0, 0)}})
    async with (
        endpoint_at("http://127.0.0.1:9/v1") as plain,
        endpoint_at("http://127.0.0.1:9/v1", prices=mine) as priced,
    ):
        assert price_at(plain, "gpt-4o") is None
        assert price_at(priced, "gpt-4o") == Price(0, 0)


@given(st.text(), st.text())
def test_tokens_never_shrink_and_are_none_only_for_nothing(text: str, more: str) -> None:
    count = estimate_tokens(text)
    assert (count == 0) == (text == "")
    assert count <= estimate_tokens(text + more) <= count + estimate_tokens(more)
    assert count <= estimate_tokens(more + text)


@given(st.characters(categories=["Cs"]))
def test_text_that_is_no_unicode_is_counted_too(lone: str) -> None:
    assert estimate_tokens(lone) == 1


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("äöü", 2), ("漢字", 2)])
def test_the_rule_is_four_bytes_a_token(text: str, count: int) -> None:
    assert estimate_tokens(text) == count


@given(st.lists(st.text(max_size=50), min_size=1, max_size=5), st.text(max_size=50))
def test_a_longer_conversation_never_has_fewer_tokens(texts: list[str], another: str) -> None:
    messages = tuple(Message("user", text) for text in texts)
    short = ModelRequest("m", messages)
    assert prompt_tokens(short) < prompt_tokens(ModelRequest("m", (*messages, Message("assistant", another))))
    assert prompt_tokens(short) < prompt_tokens(ModelRequest("m", messages, schema=SCHEMA))


def test_an_estimate_holds_the_prompt_the_longest_answer_and_their_cost() -> None:
    request = asking("What is 6 times 7?", max_tokens=100)
    estimate = estimate_call(request, ENDPOINT, Price(1.0, 2.0))
    assert estimate == Usage(prompt_tokens(request), 100, 1, (prompt_tokens(request) + 200) / 1e6, estimated=True)
    assert estimate_call(asking(), ENDPOINT, None).completion_tokens == EXPECTED_COMPLETION
    assert estimate_call(asking(), ENDPOINT, None).cost_usd is None


@pytest.mark.parametrize(
    ("figures", "price"),
    [
        ({"input": 0, "output": 2.5}, Price(0.0, 2.5)),
        ({"input": 1, "output": 2, "cached_input": 0}, Price(1.0, 2.0, 0.0)),
    ],
)
def test_a_price_is_read_as_it_is_written(figures: object, price: Price) -> None:
    assert read_price(figures) == price


def test_the_rules_of_tokens_are_counted_exactly() -> None:
    one, two = Message("system", "abcd"), Message("user", "abcde")
    assert prompt_tokens(ModelRequest("m", ())) == 3
    assert prompt_tokens(ModelRequest("m", (one,))) == 3 + 4 + 1
    assert prompt_tokens(ModelRequest("m", (one, two))) == 3 + 4 + 1 + 4 + 2
    schema = AnswerSchema("s", {"type": "object"})
    assert prompt_tokens(ModelRequest("m", (one,), schema=schema)) == 8 + len('{"type":"object"}') // 4 + 1
    assert estimate_call(ModelRequest("m", (one,)), ENDPOINT, None).completion_tokens == 1024


@pytest.mark.parametrize(
    ("cached", "cost"), [(-1, 1000.0), (0, 1000.0), (1, 999.5), (500, 750.0), (1000, 500.0), (1001, 500.0)]
)
def test_cached_tokens_cost_what_the_price_says_and_no_more_are_cached_than_were_sent(cached: int, cost: float) -> None:
    assert Price(1.0, 8.0, 0.5).cost(Usage(1000, 0), cached) * 1e6 == pytest.approx(cost)
    assert Price(1.0, 8.0).cost(Usage(1000, 0), cached) * 1e6 == pytest.approx(1000)
    assert Price(1.0, 8.0).cost(Usage(0, 3), cached) * 1e6 == pytest.approx(24)
