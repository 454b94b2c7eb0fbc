"""The content of a description: its sentences without filler, and the words that show what each is about.

Praise, function words and repeated sentences carry no content, and a cue such as "use this when" counts only next
to content. So repetition, padding and bare keywords gain nothing. The lists have cues in several languages, never
topics.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from typing import Literal

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set

Aspect = Literal["usage", "alternative", "limits", "bounds", "returns", "examples", "parameters"]
"""What a sentence may cover: when to use a tool, what to use instead, what it cannot do, which values it takes, ..."""


CONNECTING = word_set(
    "a an the this that these those it its is are be been being was were am as at by for from in into of on onto "
    "off over per to up out with within via and or nor but so than then there here their them they you your yours "
    "we our us i me my he she his her who which what where how all any each every both such same other another more "
    "most some also just very too can could may might will would shall should do does did done has have had having "
    "if when while until unless about between through during across under above below again not no yes only one two "
    "own e g i e etc eg ie vs s t "
    "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war wird werden wurde mit von "
    "vom zum zur zu im am an auf aus bei nach über unter vor für durch als auch es sie er wir ihr man sich diese "
    "dieser dieses diesem "
    "el la los las un una unos unas y o u de del al en con por para que se su sus lo le es son ser está este esta "
    "estos estas como os um uma uns umas e ou do da dos das no na nos nas ao pelo pela com seu sua são il gli i uno "
    "di che è sono nel nella dal dalla "
    "le les des du et ou à au aux dans sur avec pour par ce cet cette ces qui est sont être sa son ses ne l d het "
    "een van en met voor op te of dit deze zijn "
    "и в во на с со по к ко у о об от до из за для не что это как или а но его ее их этот эта эти"
)
"""Function words, which carry no content, of languages that most descriptions are written in."""

EMPTY = word_set(
    "tool tools function functions method utility feature features capability capabilities functionality solution "
    "software action operation task tasks thing things stuff way ways case cases situation situations scenario "
    "scenarios purpose purposes variety range lot lots kind kinds sort work works working use uses used using usage "
    "user users help helps helpful helping make makes making let lets allow allows allowing enable enables enabling "
    "provide provides providing offer offers offering give gives support supports designed built created meant "
    "intended specialized various many several different multiple much own given specific specified certain "
    "particular based related relevant need needs needed want wants like well really truly actually simply just "
    "basically quite rather highly extremely always whenever wherever possible available new good everything "
    "anything something anyone everyone daily "
    "useful powerful convenient easy easily effortless effortlessly simple great excellent best better amazing "
    "awesome fantastic wonderful incredible outstanding perfect perfectly ideal essential invaluable advanced smart "
    "intelligent comprehensive robust reliable reliably efficient efficiently effective effectively fast faster "
    "quick quickly seamless seamlessly flexible versatile modern innovative revolutionary professional ultimate "
    "premium leading cutting rich full fully complete completely detailed high quality friendly intuitive handy "
    "must love loves loved enjoy trusted proven unique special superior top popular boost boosts productivity save "
    "saves saving changing changer enterprise enterprises ready million millions thousands developers everywhere "
    "adore award winning award-winning masterpiece deliver delivers delivering guarantee guaranteed imagine matter "
    "matters integration integrate unmatched unparalleled unlock unleash empower empowers elevate supercharge "
    "streamline streamlines delight delightful stunning beautiful elegant magic magical impressive remarkable "
    "exceptional unbeatable favorite success successful goals results-driven journey scalable secure-by-design "
    "future-proof user-friendly easy-to-use well-known high-quality cutting-edge world-class state-of-the-art "
    "best-in-class all-in-one one-stop keyword keywords ai llm automation "
    "werkzeug funktion nützlich mächtig leistungsstark praktisch einfach bequem sehr gut toll hervorragend beste "
    "viele verschiedene möglich verwendet genutzt ermöglicht bietet herramienta función útil potente poderosa "
    "poderoso cómodo fácil fácilmente muy excelente mejor muchas muchos varias varios permite ofrece outil fonction "
    "utile puissant puissante pratique facile facilement très meilleur plusieurs permet offre ferramenta função "
    "prático muito ótimo melhor strumento funzione comodo molto ottimo migliore инструмент функция полезный мощный "
    "удобный очень отличный лучший простой легко позволяет 도구 기능 매우 유용한 강력한 편리한 아주 좋은 쉽게 "
    "사용할 제공합니다 입니다 있습니다 다양한"
)
"""Praise, and words that fit any tool: no information for an agent."""

EMPTY_RUNS = word_set(
    "非常 十分 强大 強大 强力 強力 有用 好用 实用 實用 方便 便捷 便利 高效 简单 簡單 容易 易用 优秀 優秀 最好 最佳 "
    "智能 全面 专业 專業 这个 這個 这是 這是 一个 一個 一种 一種 工具 功能 可以 能够 能夠 各种 各種 多种 多種 很多 "
    "许多 情况 情況 场景 場景 使用 提供 帮助 幫助 とても 非常に 強力 便利 簡単 優れた 素晴らしい 最高 様々な "
    "さまざまな 多くの ツール 機能 この これは です ます することができ"
)
"""The same in scripts without spaces."""

VERBS = word_set(
    "get fetch retrieve obtain acquire list show display view read load open write create make add insert append "
    "update edit modify change set put replace delete remove drop clear purge search find look lookup locate "
    "discover check verify validate test compute calculate estimate evaluate analyze analyse generate build produce "
    "render draw convert transform translate parse extract summarize describe explain compare sort merge split join "
    "combine send publish upload download export import copy move rename sync start stop run execute launch kill "
    "terminate cancel restart subscribe connect navigate click fill select choose pick take capture scroll hover "
    "wait save store return identify detect perform manage handle resolve suggest recommend provide encode decode "
    "encrypt decrypt sign install deploy configure enable disable switch apply invoke call monitor track inspect "
    "print ask tell reset restore"
)
"""What tools do. Several in a row say no more than one, so none counts as a fact about this tool."""

NEEDS_NUMBER = word_set(
    "max min maximum minimum limit maximal máximo mínimo massimo höchstens mindestens максимум минимум 최대 최소 "
    "最多 最大 最少 至少 最小 上限 不超过 不超過"
) | {"up to", "at most", "at least", "no more"}
"""Words that name a limit only next to a number: "at most 100", but not "the minimum frequency"."""

ONLY_FIRST = word_set("note hinweis")
"""Words that warn at the start of a sentence, and are topics elsewhere."""

OBLIGATIONS = word_set("must important muss müssen debe deben doit deve moet должен 반드시")
"""Words that name a limit, unless the sentence is about usage: "you must always call this when ..."."""

CUES: dict[str, Aspect] = {}
"""Words, and pairs of consecutive words, that show what a sentence is about."""

_SPACED: tuple[tuple[Aspect, str], ...] = (
    (
        "usage",
        "when|whenever|if_you|if_the|if_a|if_user|if_users|before_using|before_calling|after_calling|after_using|"
        "call_before|call_first|useful_for|useful_when|ideal_for|best_for|suitable_for|suited_for|suits|perfect_for|"
        "essential_for|excellent_for|invaluable_for|helpful_for|great_for|designed_for|intended_for|good_for|"
        "appropriate_for|use_this|use_it|use_to|used_to|used_for|used_by|used_when|call_this|use_cases|use_case|"
        "workflow|helps_to|so_that|wenn|falls|sobald|bevor|nachdem|nützlich_für|geeignet_für|eignet_sich|"
        "verwenden_sie|verwende|nutze|cuando|si_el|si_la|si_quiere|si_necesita|antes_de|después_de|útil_para|"
        "ideal_para|utilice|utiliza_esta|use_esta|úsala|úsalo|quando|se_o|se_a|antes_de|depois_de|utile_per|"
        "usa_questo|lorsque|quand|si_vous|si_l'utilisateur|utile_pour|utilisez|idéal_pour|wanneer|gebruik|когда|"
        "если|перед|после|используйте|полезно_для|때|경우|사용하세요|때_사용|경우에|위해",
    ),
    (
        "alternative",
        "instead|instead_of|rather_than|prefer|unlike|alternatively|otherwise|not_for|not_suitable|not_use|"
        "don't_use|see_also|stattdessen|statt|anstatt|bevorzuge|lieber|en_lugar|en_vez|prefiera|plutôt|au_lieu|"
        "préférez|em_vez|invece|piuttosto|вместо|대신",
    ),
    (
        "limits",
        "only|must|cannot|can't|never|not|don't|doesn't|won't|without|limit|limits|limited|limitation|limitations|"
        "maximum|minimum|max|min|at_most|at_least|up_to|no_more|requires|require|required_to|warning|caution|"
        "careful|important|note|restricted|restrictions|constraints|fail|fails|raises|throws|timeout|exceed|exceeds|"
        "except|excludes|excluding|deprecated|read-only|readonly|irreversible|undone|destructive|quota|unsupported|"
        "avoid|beware|exactly|mandatory|unless|nur|muss|müssen|darf|nicht|kein|keine|keinen|niemals|nie|höchstens|"
        "mindestens|maximal|benötigt|erfordert|achtung|vorsicht|hinweis|grenze|ausschließlich|begrenzt|fehler|sólo|"
        "solo|solamente|debe|deben|nunca|máximo|mínimo|requiere|límite|limitado|aviso|advertencia|cuidado|atención|"
        "no_puede|no_se|únicamente|somente|apenas|deve|não|requer|limite|soltanto|deve|non|massimo|richiede|"
        "attenzione|seulement|uniquement|doit|doivent|jamais|pas|maximal|nécessite|limité|limitée|attention|alleen|"
        "moet|niet|geen|только|должен|должна|нельзя|никогда|максимум|минимум|требует|требуется|внимание|не_более|"
        "최대|최소|제한|주의|필요|없습니다|않습니다|반드시|불가|만_지원|이내",
    ),
    (
        "bounds",
        "default|defaults|optional|optionally|inclusive|exclusive|range|allowed_values|one_of|standardmäßig|"
        "standard|optional|predeterminado|opcional|facultatif|défaut|padrão|predefinito|opzionale|необязательный|"
        "умолчанию|기본값|선택",
    ),
    (
        "returns",
        "return|returns|returned|returning|output|outputs|result|results|response|responds|yields|gives_back|"
        "produces|displays|gibt|liefert|zurück|rückgabe|ergebnis|ergebnisse|ausgabe|devuelve|retorna|resultado|"
        "resultados|salida|regresa|renvoie|retourne|résultat|résultats|sortie|saída|restituisce|risultato|risultati|"
        "geeft|resultaat|возвращает|результат|вывод|반환|반환합니다|반환한다|출력|결과|결과를",
    ),
    (
        "examples",
        "example|examples|e.g|eg|for_instance|sample|beispiel|beispiele|z.b|bsp|ejemplo|ejemplos|p.ej|exemple|"
        "exemples|p.ex|exemplo|exemplos|esempio|esempi|voorbeeld|например|пример|примеры|예|예시|예를|예제",
    ),
    (
        "parameters",
        "args|arguments|parameters|params|parameter|inputs|input|takes|fields|options|argumente|eingabe|parámetros|"
        "argumentos|paramètres|parâmetros|parametri|параметры|аргументы|매개변수|인자|파라미터|입력",
    ),
)
for _aspect, _text in _SPACED:
    CUES.update(dict.fromkeys(_text.replace("_", " ").split("|"), _aspect))

LEADING = frozenset(
    cue
    for cue, about in CUES.items()
    if about in ("usage", "returns", "examples") and cue.isascii() and cue != "returned"
)
"""Cues that need content after them; content before the other cues counts too."""

_UNSPACED_CUES: tuple[tuple[Aspect, str], ...] = (
    (
        "usage",
        "当 當 时使用 時使用 如果 适用 適用 用于 用於 适合 適合 之前 之后 之後 请先 請先 场合 場合 とき 際に 時に "
        "もし 前に 後に 向け ために",
    ),
    ("alternative", "而不是 代替 替代 优先 優先 不要使用 不适用 不適用 不适合 不適合 代わりに ではなく"),
    (
        "limits",
        "仅 僅 只能 只支持 必须 必須 不能 不可 不支持 不会 無法 无法 最多 最大 最少 至少 最小 限制 上限 注意 警告 "
        "需要 不得 禁止 不超过 不超過 のみ だけ できません できない しません しない 必要 制限 以内 以下 まで対応 "
        "対応していません",
    ),
    ("bounds", "默认 默認 預設 可选 可選 可选值 省略 デフォルト 既定 任意"),
    ("returns", "返回 输出 輸出 结果 結果 回傳 返し 返す 返り 戻り値 出力 取得結果"),
    ("examples", "例如 比如 示例 范例 範例 例: 例： 举例 舉例 如： 例えば たとえば 例として"),
    ("parameters", "参数 參數 入参 引数 パラメータ パラメーター 入力"),
)
CUE_RUNS = tuple((cue, aspect) for aspect, text in _UNSPACED_CUES for cue in text.split())
"""Cues in scripts without spaces."""


READ_CHARACTERS = 20_000
"""The most characters read of a description: many times what clients show a model."""
READ_NAME = 200
"""The most characters read of a name."""
FEW_WORDS = 1.5
"""Less content than this counts as none: one word, or three characters in a script without spaces."""
_ENOUGH: dict[Aspect, float] = {"returns": 1.0, "examples": 1.0}
"""The content needed next to a cue, where less than usual is enough: "returns JSON"."""
_HEADING_WORDS, _HEADING_CHARACTERS, _REPEATED_WORDS, _IDLE_WORDS = 4, 40, 3, 5

# No spaces show where words of these scripts end, so that characters are counted: Thai and Lao, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_BEFORE_UNSPACED = "\u0dff"
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[.'_-][A-Za-z0-9]+)*")
_EXPLAINS_NOTHING = CONNECTING | EMPTY
_SAYS_NOTHING = CONNECTING | EMPTY | VERBS | frozenset(cue for cue in CUES if " " not in cue)
_first_character = itemgetter(0)
_CLOSING = " .!?*_，。—–-\u00a0"
_HAN_DIGITS = frozenset("二两三四五六七八九十百千")
_LAST_WORDS = frozenset(cue.split()[-1] for cue in CUES)
_EXAMPLE_WORDS = frozenset(cue.split()[-1] for cue, aspect in CUES.items() if aspect == "examples")
# Not every line ends a sentence: one goes on if the next line begins in lower case and is no list item.
_WRAPPED = re.compile(r"\n[ \t]*(?=[a-z])(?![\w-]+ ?(?:\([^()\n]{0,80}\))? ?[:–=-])")
# Many authors leave out the full stop: a capital or one of these words begins a sentence nevertheless.
_RUN_ON = re.compile(
    r"[. ](?=[A-Z])(?:(?<=[a-z]{3}\.)(?=.[a-z])|"
    r"(?<=[\w)]{2} )(?:(?=(?:This|It|Its|Use|Our|We|You|These|When|If|Returns) )|"
    r"(?=The [a-z])(?<!\bof )(?<!\bin )(?<!\bon )(?<!\bby )(?<!\bto )(?<!\bfor )(?<!\bfrom )(?<!\bwith )(?<!\band )))"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE_END = re.compile(
    r"[.!?](?<![.!?].)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bz\.b\.)(?<!\bz\. b\.)(?<!\bca\.)(?<!\bvs\.)(?<!\betc\.)"
    r"[.!?]*+(?=[\s\"')]|$)|[。！？；]+"
)
_LITERAL = re.compile(
    r"(?<![\w\"])\"[^\s\"](?:[^\"\n]{0,120}[^\s\"])?\"(?!\w)|(?<![\w'])'[^\s'](?:[^'\n]{0,60}[^\s'])?'(?!\w)|"
    r"`[^`\n]{1,120}`|「[^」\n]{1,60}」|“[^”\n]{1,120}”"
)
_CALL = re.compile(
    r">>>? ?\w|\([\"'\[{](?<=\w..)[^\n]{0,200}?\)|[{\[] ?[\"'][^\n]{0,60}?[\"'] ?[:,\]]|\((?<=\w.)\w{1,80} ?= ?[\"'\w]"
)


@cache
def _token_pattern() -> re.Pattern[str]:
    """Words in any script; compiled when needed, as most texts are ASCII and compiling takes milliseconds."""
    return re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:[.'’_-][^\W_{_UNSPACED}]+)*")


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]")


@cache
def _empty_run_pattern() -> re.Pattern[str]:
    """Runs without content in scripts without spaces, the longest first."""
    runs = EMPTY_RUNS | {cue for cue, _ in CUE_RUNS if len(cue) > 1}
    return re.compile("|".join(sorted(runs, key=lambda run: (-len(run), run))))


class Sentence(NamedTuple):
    """One sentence or line with content."""

    tokens: tuple[str, ...]
    content: frozenset[str]
    """Its content words; pairs of characters in scripts without spaces."""
    is_about: bool
    """Whether it covers an aspect in a new way, by a cue or by the heading it is under."""
    has_literal: bool
    has_call: bool


class ParsedDescription(NamedTuple):
    """The content of a description."""

    sentences: tuple[Sentence, ...]
    """Without headings, filler and repetitions."""
    covered: dict[Aspect, int]
    """The number of sentences that cover each aspect, each in a new way."""
    idle: int
    """The number of sentences that are filler or repetitions."""

    def stems(self) -> frozenset[str]:
        """The stems of all words, to find what is mentioned."""
        words: set[str] = set().union(*(sentence.tokens for sentence in self.sentences))
        parts = [part for word in words if "_" in word for part in word.split("_")]
        return frozenset(map(stem, words.union(parts)))


def repeats(sentence: Sentence, name: frozenset[str]) -> bool:
    """Whether a sentence has no words besides those of a name and function words."""
    return all(token in CONNECTING or stem(token) in name for token in sentence.tokens)


def parse_description(description: str, name: frozenset[str]) -> ParsedDescription:
    """Parse a description; words of the tool's name are not content for an aspect."""
    seen: set[tuple[str, ...]] = set()
    lengths: dict[str, set[int]] = {}  # of these sentences, by their last words
    sentences: list[Sentence] = []
    ways: set[tuple[Aspect, str]] = set()
    covered: dict[Aspect, int] = {}
    idle, section, section_used = 0, None, False
    for line in _lines(description):
        if not line:
            section = None if section_used else section
            continue
        for text in _SENTENCE_END.split(line):
            tokens = _tokens(text)
            if not tokens:
                continue
            if _is_heading(line, tokens):
                section, section_used = _heading_aspect(tokens, text) or section, False
                continue
            tokens = _without_repetition(tokens, seen, lengths)
            content = _content(tokens)
            has_call = _has_call(text)
            # A sentence that stands twice counts once, or repeating it would raise the score.
            if tokens in seen or not (content or has_call or _has_number(tokens, text) or any(map(_is_verb, tokens))):
                idle += len(tokens) >= _IDLE_WORDS
                continue
            seen.add(tokens)
            lengths.setdefault(tokens[-1], set()).add(len(tokens))
            has_literal = _has_literal(text)
            about = _covered(tokens, text, content, name, has_literal)
            if section is not None:
                section_used = True
                if has_call or amount(content - name) >= _ENOUGH.get(section, FEW_WORDS):
                    about.add((section, "heading"))
            new = about - ways if about else about
            if new:
                ways |= new
                for aspect in {aspect for aspect, _ in new}:
                    covered[aspect] = covered.get(aspect, 0) + 1
            sentences.append(Sentence(tokens, content, bool(new), has_literal, has_call))
    return ParsedDescription(tuple(sentences), covered, idle)


@lru_cache(maxsize=16_384)
def stems_of(name: str) -> frozenset[str]:
    """The stems of an identifier's words, in any naming style."""
    name = name[:READ_NAME]
    words = (name if name.islower() else _CAMEL.sub(" ", name)).lower().replace("_", " ").replace("-", " ")
    return frozenset(map(stem, _tokens(words)))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without English inflections, so that a plural is not a new word."""
    if len(word) > 4:
        if word.endswith("ies"):
            return word[:-3] + "y"
        if word.endswith("ing"):
            return word[:-3]
        if word.endswith("ed"):
            return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def says_more(text: str, than: frozenset[str]) -> bool:
    """Whether a text explains something beyond these stems; verbs and bounds explain a parameter too."""
    text = text[:READ_CHARACTERS].lower()
    # One after the other, as the first word or the second is enough for most texts.
    for match in _pattern_for(text).finditer(text):  # noqa: SIM110 (a generator takes twice as long)
        if _explains(match[0]) and stem(match[0]) not in than:
            return True
    return False


def explains_parameter(tokens: tuple[str, ...], name: str, than: frozenset[str]) -> bool:
    """Whether a sentence explains a parameter after naming it; a verb is enough if the name comes first."""
    place = tokens.index(name)
    return any(
        (_explains(token) if place == 0 else _PIECES[token] or CUES.get(token) == "bounds") and stem(token) not in than
        for token in tokens[place + 1 :]
    )


def _explains(token: str) -> bool:
    return token not in _EXPLAINS_NOTHING and not (_is_unspaced(token) and not _PIECES[token])


def amount(content: Collection[str]) -> float:
    """The amount of content in words; two characters make a word in scripts without spaces."""
    if "".join(content).isascii():
        return float(len(content))
    return sum(0.5 if _is_unspaced(piece) else 1.0 for piece in content)


def _is_unspaced(text: str) -> bool:
    """Whether a text starts with a character of a script without spaces."""
    return text[0] > _BEFORE_UNSPACED and _unspaced_pattern().match(text) is not None


def _pattern_for(text: str) -> re.Pattern[str]:
    """The pattern of the words of a text."""
    return _ASCII_TOKEN if text.isascii() else _token_pattern()


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_pattern_for(text).findall(text))


def gives_example(text: str) -> bool:
    """Whether a text, such as a parameter's description, contains an example."""
    text = text[:READ_CHARACTERS].lower()
    tokens = _tokens(text)
    if text.isascii() and _EXAMPLE_WORDS.isdisjoint(tokens):
        return False
    return any(aspect == "examples" for _, _, aspect in _cues(tokens, text))


def _lines(description: str) -> Iterator[str]:
    text = _unwrapped(description[:READ_CHARACTERS])
    return (line.strip() for line in _RUN_ON.sub("\n", text).lower().splitlines())


def _unwrapped(text: str) -> str:
    """A text without line breaks inside sentences."""
    pieces: list[str] = []
    start = 0
    for match in _WRAPPED.finditer(text):
        line = max(start, text.rfind("\n", start, match.start()) + 1)
        # Here, as a pattern that does not begin with the line break would be tried at each character.
        before = text[line : match.start()].removesuffix("\r").rstrip(" \t")
        if before and (before[-1].isalnum() or before[-1] in "_,)"):
            pieces += text[start : line + len(before)], " "
            start = match.end()
    return "".join(pieces) + text[start:]


def _without_repetition(
    tokens: tuple[str, ...], seen: set[tuple[str, ...]], lengths: dict[str, set[int]]
) -> tuple[str, ...]:
    """A sentence without a repetition of another one that follows it without punctuation."""
    half = len(tokens) // 2
    if half >= _REPEATED_WORDS and tokens[0] == tokens[half] and tokens[:half] == tokens[half : 2 * half]:
        return tokens[:half]
    for length in sorted(lengths.get(tokens[-1], ())):
        if _REPEATED_WORDS <= length < len(tokens) and tokens[-length:] in seen:
            return tokens[:-length]
    return tokens


def _content(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_PIECES.__getitem__, tokens)))


class _Pieces(dict[str, tuple[str, ...]]):
    """The content of each word: its stem, or pairs of characters in scripts without spaces."""

    # A dictionary takes a third of the time of a cached function, which is 2 % of a sweep.
    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[token] = pieces = tuple(_pieces(token))
        return pieces


def _pieces(token: str) -> Iterator[str]:
    if _is_unspaced(token):
        for run in _empty_run_pattern().split(token):
            yield from (run[start : start + 2] for start in range(len(run) - 1))
    elif not (token in _SAYS_NOTHING or len(token) < 2 or token.isdigit() or _is_verb(token)):
        root = stem(token)
        if root not in _SAYS_NOTHING:
            yield root


_PIECES = _Pieces()
_MOST_WORDS = 16_384


@lru_cache(maxsize=16_384)
def _is_verb(token: str) -> bool:
    root = stem(token)
    return token in VERBS or root in VERBS or root + "e" in VERBS


def _has_number(tokens: tuple[str, ...], text: str) -> bool:
    return any(map(str.isdigit, map(_first_character, tokens))) or not (text.isascii() or _HAN_DIGITS.isdisjoint(text))


def _has_literal(text: str) -> bool:
    may = '"' in text or "'" in text or "`" in text or not text.isascii()
    return may and _LITERAL.search(text) is not None


def _has_call(text: str) -> bool:
    may = "(" in text or "[" in text or "{" in text or ">>" in text
    return may and _CALL.search(text) is not None


def _covered(
    tokens: tuple[str, ...], text: str, content: frozenset[str], name: frozenset[str], has_literal: bool
) -> set[tuple[Aspect, str]]:
    """The aspects a sentence covers, each with its cue; what its content is beyond the tool's name counts."""
    covered: set[tuple[Aspect, str]] = set()
    cues = list(_cues(tokens, text))
    if not cues:
        return covered
    whole = amount(content - name)
    for place, cue, aspect in cues:
        if (aspect, cue) in covered:
            continue
        beside, enough = whole, _ENOUGH.get(aspect, FEW_WORDS)
        if cue in LEADING and whole:
            beside = _content_up_to(enough, tokens[place:], name)
        if aspect == "limits":
            if cue in NEEDS_NUMBER and not _has_number(tokens, text):
                continue
            if cue in OBLIGATIONS and any(aspect == "usage" for _, _, aspect in cues):
                continue
            # A verb is enough for what a tool cannot do, a number for how much it accepts.
            beside += FEW_WORDS if cue in NEEDS_NUMBER else 0
            beside += sum(map(_is_verb, tokens)) if whole and beside < enough else 0
        if beside >= enough or (aspect == "examples" and (has_literal or _has_number(tokens, text))):
            covered.add((aspect, cue))
    return covered


def _content_up_to(most: float, tokens: tuple[str, ...], name: frozenset[str]) -> float:
    """The amount of content beyond the tool's name, counted until it reaches a limit."""
    content: set[str] = set()
    counted = 0.0
    for token in tokens:
        for piece in _PIECES[token]:
            if piece not in name and piece not in content:
                content.add(piece)
                counted += 0.5 if _is_unspaced(piece) else 1.0
        if counted >= most:
            break
    return counted


def _cues(tokens: tuple[str, ...], text: str) -> Iterator[tuple[int, str, Aspect]]:
    """The cues in a sentence, each with the position of the words after it."""
    if not _LAST_WORDS.isdisjoint(tokens):
        for place in [place for place, token in enumerate(tokens) if token in _LAST_WORDS]:
            token, previous = tokens[place], tokens[place - 1] if place else ""
            if (pair := f"{previous} {token}") in CUES:
                yield place + 1, pair, CUES[pair]
            elif token in CUES and (not previous or token not in ONLY_FIRST):
                yield place + 1, token, CUES[token]
    if not text.isascii() and _unspaced_pattern().search(text):
        for cue, aspect in CUE_RUNS:
            if cue in text:
                yield 0, cue, aspect


def _is_heading(line: str, tokens: tuple[str, ...]) -> bool:
    if len(tokens) > _HEADING_WORDS or sum(map(len, tokens)) > _HEADING_CHARACTERS:
        return False
    return line.rstrip(_CLOSING)[-1:] in (":", "：") or line[0] == "#" or line.startswith("**")


def _heading_aspect(tokens: tuple[str, ...], text: str) -> Aspect | None:
    """The aspect a heading announces, if any."""
    return next((aspect for _, _, aspect in _cues(tokens, text)), None)
