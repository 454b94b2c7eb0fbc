"""What a description is worth to an agent, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.scores.descriptions import COMPONENTS, DescriptionScore, description_scores, judge
from mcproof.core.catalog.model import Tool
from mcproof.targets.snapshots import read_snapshot

CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "Name of the place."}}}
BARE_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}

GOOD = {
    "English": (
        "Get the weather forecast of a city for up to 7 days. Use this for coming days; for the present prefer "
        "get_current. Returns one line a day with the temperature in Celsius. It cannot look back. "
        'Example: get_forecast(city="Bern").'
    ),
    "Chinese": (
        "查询指定城市未来七天的天气预报。当用户询问未来天气时使用，当前天气请用 get_current 代替。"
        "返回每天的最高和最低温度。最多七天。不支持历史数据。例如：“北京”。"
    ),
    "Japanese": (
        "指定した都市の天気予報を調べます。今後の天気を知りたい場合に使います。"
        "現在の天気には代わりに get_current を使います。"
        "日ごとの最高気温と最低気温を返します。最大7日です。"
        "過去のデータには対応していません。例えば「東京」。"
    ),
    "Korean": (
        "도시의 일기 예보를 최대 7일까지 조회합니다. 앞으로의 날씨를 물을 때 사용하세요. "
        "현재 날씨는 대신 get_current 를 사용하세요. 날짜별 최고 기온과 최저 기온을 반환합니다. "
        '과거 날짜는 지원하지 않습니다. 예: "서울".'
    ),
    "German": (
        "Liefert die Wettervorhersage einer Stadt für höchstens 7 Tage. Verwende es, wenn nach kommenden Tagen gefragt "
        "wird; für heute stattdessen get_current. Gibt je Tag die Temperatur in Celsius zurück. Vergangene Tage sind "
        'nicht verfügbar. Beispiel: city="Bern".'
    ),
    "Spanish": (
        "Devuelve el pronóstico del tiempo de una ciudad para un máximo de 7 días. Úsala cuando pregunten por los "
        "próximos días; para hoy, en lugar de esta, get_current. No se admiten fechas pasadas. "
        'Ejemplo: city="Madrid".'
    ),
    "French": (
        "Renvoie les prévisions météo d'une ville sur 7 jours. Utilisez cet outil lorsque la question porte sur les "
        "jours à venir, plutôt que get_current. Les dates passées ne sont pas disponibles. La ville doit être en "
        'Europe. Exemple : city="Lyon".'
    ),
}


def scored(
    description: str, schema: dict[str, Any] = CITY, name: str = "get_forecast", **fields: Any
) -> DescriptionScore:
    return judge(
        Tool({"name": name, "description": description, "inputSchema": schema, **fields}, "/tools/0")
    ).explained()


def shares(score: DescriptionScore) -> dict[str, float]:
    return {each.name: round(each.score, 2) for each in score.components}


@pytest.mark.parametrize("language", GOOD)
def test_a_concise_and_complete_description_has_the_top_score_in_any_language(language: str) -> None:
    score = scored(GOOD[language])
    assert (round(score.score, 2), score.reasons) == (1.0, [])


def test_the_weights_are_those_of_the_whole() -> None:
    assert sum(weight for weight, _ in COMPONENTS.values()) == pytest.approx(1)
    assert list(COMPONENTS) == ["purpose", "usage", "limits", "parameters", "examples", "completeness"]
    assert sum(each.weight for each in scored("Get it.", NO_PARAMETERS).components) == pytest.approx(1)


def test_what_a_poor_description_lacks_is_named_with_its_cost() -> None:
    score = scored("Get the forecast. Rain.", BARE_CITY)
    assert shares(score) == {
        "purpose": 0.2,
        "usage": 0.0,
        "limits": 0.0,
        "parameters": 0.0,
        "examples": 0.0,
        "completeness": 0.0,
    }
    assert score.reasons == [
        "parameter `city` is not explained: -0.20",
        "the first sentence only repeats the name: -0.16",
        "does not say when to use it: -0.15",
        "no return format: -0.15",
        "no limits: -0.10",
        "no example: -0.10",
        "little content: -0.10",
    ]
    assert score.score == pytest.approx(0.04)


def test_a_description_that_only_repeats_the_name_scores_nothing_whatever_the_schema_says() -> None:
    score = scored("Get forecast: gets the forecasts.")
    assert score.score == 0
    assert score.reasons == ["only repeats the name: -1.00"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Count the words of one letter.", None),
        ("Count the words of one note.", "says no more than the name"),
        ("Hinweis: count words.", "says no more than the name"),
        ("Note: count words.", "says no more than the name"),
        ("Simply count words easily.", "says no more than the name"),
        ("Count the words.", "only repeats the name"),
    ],
)
def test_only_a_text_without_further_words_repeats_the_name(text: str, reason: str | None) -> None:
    score = scored(text, NO_PARAMETERS, "count_words")
    assert (score.score == 0) == (reason is not None)
    assert score.reasons[0].startswith(f"{reason}: -" if reason else "does not say when to use it: -")


@pytest.mark.parametrize("text", ["", "   \n", "获取天气预报", "Sucht Termine im Kalender."])
def test_the_costs_and_the_score_make_one(text: str) -> None:
    score = scored(text, BARE_CITY)
    assert sum(float(reason.rpartition("-")[2]) for reason in score.reasons) == pytest.approx(1 - score.score, abs=0.03)


def test_no_description_scores_nothing_whatever_the_schema_says() -> None:
    score = scored("")
    assert score.score == 0
    assert score.reasons == ["no description: -1.00"]
    assert [each.reasons for each in score.components] == [
        (f"no description: -{weight:.2f}",) for weight, _ in COMPONENTS.values()
    ]


@pytest.mark.parametrize(
    "text",
    [
        "This tool is very powerful and useful.",
        "这是一个非常强大、方便、好用的工具。",
        "とても便利なツールです。",
        "!!! ... ---",
    ],
)
def test_what_says_nothing_about_the_tool_scores_nothing(text: str) -> None:
    assert scored(text).score == 0


def test_a_full_sentence_of_ten_characters_is_a_purpose_in_chinese() -> None:
    assert shares(scored("查询全国各地天气预报"))["purpose"] == 1.0
    assert shares(scored("获取所有菜谱", name="getAllRecipes"))["purpose"] == 1.0


@pytest.mark.parametrize(
    ("name", "text", "purpose"),
    [
        ("get_weather", "Get weather", 0.0),
        ("getWeather", "Gets the weather. A forecast of rain and wind.", 0.2),
        ("search", "Search.", 0.0),
        ("weather", "Forecasts.", 0.6),
        ("get_weather", "Get the weather of a city.", 1.0),
        ("secure_token", "This is a great tool. Generates a random token for sessions.", 1.0),
    ],
)
def test_the_first_sentence_must_say_more_than_the_name(name: str, text: str, purpose: float) -> None:
    assert shares(scored(text, NO_PARAMETERS, name))["purpose"] == pytest.approx(purpose)


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("Lists open invoices of a customer.", 0.0),
        ("Lists open invoices. Use this when a customer asks for debts.", 0.6),
        ("Lists open invoices. Use this when a customer asks for debts. Prefer list_all for closed invoices.", 1.0),
        ("Lists open invoices. Use this when.", 0.0),
        ("Lists open invoices. Ideal for dunning letters and audits.", 0.6),
        ("列出未付发票。当客户询问欠款时使用。", 0.6),
        ("Listet offene Rechnungen. Geeignet für Mahnungen und Prüfungen.", 0.6),
    ],
)
def test_usage_is_when_to_use_it_and_when_another(text: str, usage: float) -> None:
    assert shares(scored(text, NO_PARAMETERS, "list_open"))["usage"] == pytest.approx(usage)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("Reads a file of the workspace.", 0.0),
        ("Reads a file. Only paths below the root are allowed.", 0.7),
        ("Reads a file. Only paths below the root are allowed. Binary files are not supported.", 1.0),
        ("Computes the minimum frequency of a sound.", 0.0),
        ("Reads a file of at most 10 megabytes.", 0.7),
        ("Reads a file. If a user names a file, you must call this function.", 0.0),
        ("Takes a musical note of a song.", 0.0),
        ("Reads a file. Note: symbolic links break.", 0.7),
        ("Reads a file. Limits.", 0.0),
    ],
)
def test_limits_are_what_the_tool_cannot_do_or_needs(text: str, limits: float) -> None:
    assert shares(scored(text, NO_PARAMETERS, "read_it"))["limits"] == pytest.approx(limits)


def test_bounds_in_the_schema_are_limits_too() -> None:
    bounded = {"type": "object", "properties": {"days": {"type": "integer", "maximum": 7}}}
    assert shares(scored("Forecast of the weather.", bounded))["limits"] == pytest.approx(0.4)


def test_parameters_may_be_explained_in_the_text_or_in_the_schema() -> None:
    text = "Get the weather.\n\nArgs:\n    city: Name of the place in English\n\nReturns:\n    Temperature in Celsius"
    in_text = scored(text, BARE_CITY)
    in_schema = scored("Get the weather.\n\nReturns:\n    Temperature in Celsius", CITY)
    assert shares(in_text)["parameters"] == shares(in_schema)["parameters"] == 1.0


@pytest.mark.parametrize(
    ("schema", "text", "parameters"),
    [
        ({"city": {}}, "Get the weather.", 0.0),
        ({"city": {}}, "Get the weather of a city.", 0.4),
        ({"city": {"description": "The city."}}, "Get the weather.", 0.4),
        ({"mode": {"enum": ["a", "b"]}}, "Get the weather.", 0.4),
        ({"city": True, "day": {"description": "Day of the week."}}, "Get the weather.", 0.5),
        ({"_meta": {}, "day": {"description": "Day of the week."}}, "Get the weather.", 1.0),
        ({"city": {}, "day": {}}, "Get the weather. Parameters: city, day.", 0.4),
        ({"stadt": {}}, "Holt das Wetter.\nstadt: Name des Ortes", 1.0),
        ({"city": {"description": "城市名称"}}, "查询天气预报。", 1.0),
    ],
)
def test_a_parameter_is_explained_by_more_than_its_name(schema: dict[str, Any], text: str, parameters: float) -> None:
    assert shares(scored(text, {"type": "object", "properties": schema}))["parameters"] == pytest.approx(parameters)


def test_a_required_parameter_counts_twice() -> None:
    properties = {"city": {}, "day": {"description": "Day of the week."}}
    score = scored("Get the weather.", {"type": "object", "properties": properties, "required": ["city"]})
    assert shares(score)["parameters"] == pytest.approx(1 / 3, abs=0.01)
    assert "parameter `city` is not explained: -0.13" in score.reasons


def test_parameters_weigh_nothing_where_there_are_none() -> None:
    component = next(each for each in scored("Lists invoices.", NO_PARAMETERS).components if each.name == "parameters")
    assert (component.weight, component.reasons) == (0.0, ())


@pytest.mark.parametrize(
    ("text", "examples"),
    [
        ("Finds icons by their names.", 0.0),
        ("Finds icons. For example.", 0.0),
        ("Finds icons, with names like 'home' or 'bell'.", 0.5),
        ("Finds icons, e.g. arrows and bells.", 0.7),
        ("Finds icons (e.g. 'home').", 1.0),
        ('Finds icons.\n\nExample:\n    find_icons("home")', 1.0),
        ('查找图标。例如："主页"', 1.0),
    ],
)
def test_examples_are_calls_and_values(text: str, examples: float) -> None:
    assert shares(scored(text, NO_PARAMETERS, "find_icons"))["examples"] == pytest.approx(examples)


def test_an_example_in_the_schema_counts_half() -> None:
    with_example = {"type": "object", "properties": {"q": {"type": "string", "description": "A name, e.g. home."}}}
    assert shares(scored("Finds icons.", with_example))["examples"] == 0.5


def test_an_output_schema_says_what_comes_back() -> None:
    text = "Get the weather of any city on the northern hemisphere, measured by stations at airports."
    without, declared = scored(text), scored(text, outputSchema={"type": "object"})
    assert "no return format: -0.15" in without.reasons
    assert shares(declared)["completeness"] > shares(without)["completeness"]


def test_a_return_format_of_one_word_is_one() -> None:
    assert not any("return format" in reason for reason in scored("Get the weather of a city. Returns JSON.").reasons)
    assert any("return format" in reason for reason in scored("Get the weather of a city. Returns results.").reasons)


def test_more_than_clients_show_costs() -> None:
    padding = " ".join(f"Station {number} lies near town {number}." for number in range(200))
    assert "longer than 2,048 characters: -0.05" in scored(f"{GOOD['English']} {padding}").reasons
    assert scored(f"{GOOD['English']} {padding}").score < scored(GOOD["English"]).score


def test_scores_are_by_tool_and_rounded() -> None:
    tools = [
        {"name": "a", "description": GOOD["English"], "inputSchema": CITY},
        {"name": "b", "inputSchema": CITY},
        {"description": "Get the forecast.", "inputSchema": BARE_CITY},
        "no tool",
        {"name": "a", "description": "A.", "inputSchema": CITY},
    ]
    catalog = read_snapshot(json.dumps({"tools": tools}).encode(), "case.json")
    scores = description_scores(map(judge, catalog.tools))
    assert scores == {"a": scores["a"], "b": 0.0, "tools[2]": scores["tools[2]"], "tools[3]": 0.0}
    assert scores["a"] < 0.5, "of several tools of one name, the lowest"
    assert all(score == round(score, 2) for score in scores.values())


@pytest.mark.parametrize(
    "schema",
    [{"properties": []}, {"properties": {"a": None}}, {"properties": {"a": {"description": 5}}, "required": [[], 1]}],
)
def test_a_malformed_schema_is_no_obstacle(schema: dict[str, Any]) -> None:
    assert 0 <= scored("Get the weather of a city.", schema).score <= 1
