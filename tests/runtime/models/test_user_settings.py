"""The user's own settings: what each may say, and the sentence for each that says something else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import platformdirs
import pytest
from tests.runtime.models.making import KEY

from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.prices import Price, PriceTable
from merrow_runtime.models.spending_limits import MinuteLimits, SpendingLimits
from merrow_runtime.models.user_settings import (
    JournalLimits,
    ModelNames,
    UserSettings,
    read_user_settings,
    settings_path,
)

ALL = """
base_url = " https://Models.Example.com:443/v1 "
model = " llama3.3 "
suggest_ask_above_usd = 0
concurrency = 1
proxy = "http://proxy.example:3128"
trusted_origins = ["https://models.example.com/anything", "http://localhost:8080"]
[models]
optimizer = "o"
judge = "j"
[journal]
keep_days = 0.5
max_mb = 7
[api_key_env]
"https://models.example.com/v1" = "MINE_KEY"
[limits]
month_usd = 0
[limits."https://models.example.com/v1"]
requests_per_minute = 1
tokens_per_minute = 2
[limits."https://two.example"]
requests_per_minute = 3
[limits."https://three.example"]
tokens_per_minute = 4
[limits."https://four.example"]
[prices."http://localhost:11434/v1"."*"]
input = 0
output = 0
cached_input = 0
[prices."https://api.openai.com"."m"]
input = 1
output = 2.5
"""
PRICE = "a price is `{input = ..., output = ...}` in US dollars a million tokens."
ADDRESS = "is not an address such as `https://host/v1`; correct it where it is set."


def written(folder: Path, text: str) -> UserSettings:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return read_user_settings(path)


def told(path: Path) -> str:
    with pytest.raises(UsageFailure) as caught:
        read_user_settings(path)
    return str(caught.value)


def test_each_setting_is_read(tmp_path: Path) -> None:
    assert written(tmp_path, ALL) == UserSettings(
        base_url="https://Models.Example.com:443/v1",
        model="llama3.3",
        models=ModelNames("o", "j"),
        suggest_ask_above_usd=0.0,
        concurrency=1,
        proxy="http://proxy.example:3128",
        api_key_env={"https://models.example.com": "MINE_KEY"},
        trusted_origins=frozenset({"https://models.example.com", "http://localhost:8080"}),
        journal=JournalLimits(0.5, 7.0),
        limits=SpendingLimits(
            0.0,
            {
                "https://models.example.com": MinuteLimits(1, 2),
                "https://two.example": MinuteLimits(3),
                "https://three.example": MinuteLimits(None, 4),
                "https://four.example": MinuteLimits(),
            },
        ),
        prices=PriceTable(
            {"http://localhost:11434": {"*": Price(0, 0, 0)}, "https://api.openai.com": {"m": Price(1, 2.5)}}
        ),
        path=tmp_path / "config.toml",
    )


def test_what_the_file_does_not_say_is_as_without_it(tmp_path: Path) -> None:
    assert written(tmp_path, "") == UserSettings(path=tmp_path / "config.toml")
    assert read_user_settings(tmp_path / "none.toml") == UserSettings()
    assert UserSettings().journal == JournalLimits(keep_days=90.0, max_mb=1000.0)
    assert written(tmp_path, "[journal]\nkeep_days = false").journal == JournalLimits(None, 1000.0)
    assert written(tmp_path, "[journal]\nmax_mb = false").journal == JournalLimits(90.0, None)
    assert written(tmp_path, '[models]\njudge = "j"').models == ModelNames(None, "j")
    assert written(tmp_path, "proxy = false").proxy is False
    one_key = written(tmp_path, 'base_url = "https://m.example/v1"\napi_key_env = "MINE_KEY"')
    assert one_key.api_key_env == {"https://m.example": "MINE_KEY"}


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (MinuteLimits(3, 4), "3 requests and 4 tokens a minute"),
        (MinuteLimits(3), "3 requests a minute"),
        (MinuteLimits(None, 4), "4 tokens a minute"),
    ],
)
def test_limits_of_a_minute_are_said_in_words(limits: MinuteLimits, text: str) -> None:
    assert str(limits) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        *(
            (
                f'{name} = "{KEY}"',
                f"`{name}` does not belong in a file: put the key into an environment variable and name it under"
                " `[api_key_env]`.",
            )
            for name in ("api_key", "key", "OpenAI_API_Key", "token")
        ),
        (
            "modell = 'x'",
            "there is no setting `modell`; the settings are `base_url`, `model`, `models`, `suggest_ask_above_usd`,"
            " `concurrency`, `proxy`, `api_key_env`, `trusted_origins`, `journal`, `limits`, `prices`, `notify`,"
            " `servers`, `azure`.",
        ),
        ('base_url = "models"', f"The `base_url` {ADDRESS}"),
        ("base_url = 3", "`base_url` is not a text."),
        ("model = 3", "`model` is not a text."),
        ('model = " "', "`model` is not a text."),
        ("models = 3", "`[models]` is a table with `optimizer`, `judge`, `embedding` and `max_tokens`."),
        ('[models]\njudges = "j"', "`[models]` is a table with `optimizer`, `judge`, `embedding` and `max_tokens`."),
        ("[models]\njudge = 3", "`models.judge` is not a text."),
        *(
            (f"suggest_ask_above_usd = {value}", "`suggest_ask_above_usd` is not a number of US dollars, 0 or more.")
            for value in ("true", '"1"', "-0.1", "inf", "nan")
        ),
        *(
            (f"concurrency = {value}", "`concurrency` is not a whole number, 1 or more.")
            for value in ("true", '"1"', "0", "1.5")
        ),
        *(
            (f"proxy = {value}", "`proxy` is neither an address such as `http://proxy:3128` nor false.")
            for value in ("true", "3", '"proxy:3128"')
        ),
        *(
            (text, "`api_key_env` is not the name of an environment variable (a key itself doesn't belong in a file).")
            for text in (
                f'[api_key_env]\n"https://m.example" = "{KEY}"',
                '[api_key_env]\n"https://m.example" = 3',
                f'api_key_env = "{KEY}"',
                "api_key_env = 3",
            )
        ),
        (
            'api_key_env = "X"',
            "`api_key_env` names a variable for no origin: say `base_url` too, or a table by origin.",
        ),
        ('[api_key_env]\n"m" = "X"', f"The origin in `api_key_env` {ADDRESS}"),
        ("trusted_origins = 3", "`trusted_origins` is not a list of addresses."),
        ("trusted_origins = [3]", "`trusted_origins` is not a text."),
        ('trusted_origins = ["*"]', f"The entry of `trusted_origins` {ADDRESS}"),
        ("journal = 3", "`[journal]` is a table with `keep_days`, `max_mb` and `url`."),
        ("[journal]\nkeep = 3", "`[journal]` is a table with `keep_days`, `max_mb` and `url`."),
        *(
            (f"[journal]\n{name} = {value}", f"`journal.{name}` is neither a number above 0 nor false.")
            for name, value in (("keep_days", "0"), ("max_mb", "true"), ("max_mb", '"1"'), ("keep_days", "inf"))
        ),
        ("limits = 3", "`[limits]` is a table with `month_usd`, and tables by origin."),
        *(
            (f"[limits]\nmonth_usd = {value}", "`limits.month_usd` is not a number of US dollars, 0 or more.")
            for value in ("true", '"1"', "-0.1", "inf")
        ),
        (
            "[limits]\nday_usd = 3",
            '`limits` has no `day_usd`; it has `month_usd` and tables such as `[limits."https://host"]`.',
        ),
        ("[limits.h]", f"The origin in `limits` {ADDRESS}"),
        (
            '[limits."https://h"]\nrequests = 3',
            '`[limits."https://h"]` has no `requests`; it has `requests_per_minute` and `tokens_per_minute`.',
        ),
        *(
            (
                f'[limits."https://h"]\ntokens_per_minute = {value}',
                '`limits."https://h".tokens_per_minute` is not a whole number, 1 or more.',
            )
            for value in ("true", '"1"', "0", "1.5")
        ),
        ("prices = 1", '`prices` is not a table by origin and model: [prices."https://host"."model"].'),
        ("[prices]\nm = 1", '`prices` is not a table by origin and model: [prices."https://host"."model"].'),
        ("[prices.h.m]\ninput = 1\noutput = 1", f"The origin in `prices` {ADDRESS}"),
        ('[prices."https://h"]\nm = 1', f"the price of `m`: {PRICE}"),
        (
            '[prices."https://h"."m"]\ninput = 1',
            f"the price of `m`: {PRICE}",
        ),
        (
            '[prices."https://h"."m"]\ninput = 1\noutput = 1\nused = 1\ncached = 1',
            "the price of `m`: a price has no `cached`; it has `input`, `output` and `cached_input`.",
        ),
        *(
            (
                f'[prices."https://h"."m"]\ninput = 1\noutput = {value}',
                "the price of `m`: `output` is not a number of US dollars, 0 or more.",
            )
            for value in ("true", '"1"', "-1", "inf")
        ),
        (
            '[prices."https://h"."m"]\ninput = 1\noutput = 1\ncached_input = -1',
            "the price of `m`: `cached_input` is not a number of US dollars, 0 or more.",
        ),
    ],
)
def test_what_is_wrong_in_a_setting_is_told_with_the_file_and_without_secrets(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    assert told(path) == f"Your settings {path}: {sentence}"


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("base_url =", encoding="utf-8")
    assert told(path).startswith(f"Your settings {path} are not valid TOML: ")
    path.write_bytes(b"\xff")
    assert told(path) == f"Your settings {path} can't be read: it is not UTF-8."
    assert told(tmp_path) == f"Your settings {tmp_path} can't be read: {os.strerror(errno.EISDIR)}."


def test_the_folder_of_the_settings_can_be_named(tmp_path: Path) -> None:
    usual = platformdirs.user_config_path("merrow") / "config.toml"
    assert settings_path({"MERROW_CONFIG_DIR": f" {tmp_path} "}) == tmp_path / "config.toml"
    assert settings_path({"MERROW_CONFIG_DIR": " "}) == usual
    assert settings_path({}) == usual
