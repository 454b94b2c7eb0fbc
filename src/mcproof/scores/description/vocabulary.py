"""Words that show what a sentence of a description is about, in several languages.

Scripts with spaces are matched by word, others by substring. The lists contain cues, never topics: a tool's topic is
whatever remains without cues, function words and praise.
"""

from __future__ import annotations

from typing import Literal

Aspect = Literal["usage", "alternative", "limits", "bounds", "returns", "examples", "parameters"]
"""What a sentence may cover: when to use a tool, what to use instead, what it cannot do, which values it takes, ..."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONNECTING = _words(
    # English
    "a an the this that these those it its is are be been being was were am as at by for from in into of on onto "
    "off over per to up out with within via and or nor but so than then there here their them they you your yours "
    "we our us i me my he she his her who which what where how all any each every both such same other another more "
    "most some also just very too can could may might will would shall should do does did done has have had having "
    "if when while until unless about between through during across under above below again not no yes only one two "
    "own e g i e etc eg ie vs s t "
    # German
    "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war wird werden wurde mit von "
    "vom zum zur zu im am an auf aus bei nach über unter vor für durch als auch es sie er wir ihr man sich diese "
    "dieser dieses diesem "
    # Spanish, Portuguese, Italian
    "el la los las un una unos unas y o u de del al en con por para que se su sus lo le es son ser está este esta "
    "estos estas como os um uma uns umas e ou do da dos das no na nos nas ao pelo pela com seu sua são il gli i uno "
    "di che è sono nel nella dal dalla "
    # French, Dutch
    "le les des du et ou à au aux dans sur avec pour par ce cet cette ces qui est sont être sa son ses ne l d het "
    "een van en met voor op te of dit deze zijn "
    # Russian
    "и в во на с со по к ко у о об от до из за для не что это как или а но его ее их этот эта эти"
)
"""Function words, which carry no content."""

EMPTY = _words(
    # True of every tool
    "tool tools function functions method utility feature features capability capabilities functionality solution "
    "software action operation task tasks thing things stuff way ways case cases situation situations scenario "
    "scenarios purpose purposes variety range lot lots kind kinds sort work works working use uses used using usage "
    "user users help helps helpful helping make makes making let lets allow allows allowing enable enables enabling "
    "provide provides providing offer offers offering give gives support supports designed built created meant "
    "intended specialized various many several different multiple much own given specific specified certain "
    "particular based related relevant need needs needed want wants like well really truly actually simply just "
    "basically quite rather highly extremely always whenever wherever possible available new good everything "
    "anything something anyone everyone daily "
    # Praise
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
    # Other languages
    "werkzeug funktion nützlich mächtig leistungsstark praktisch einfach bequem sehr gut toll hervorragend beste "
    "viele verschiedene möglich verwendet genutzt ermöglicht bietet herramienta función útil potente poderosa "
    "poderoso cómodo fácil fácilmente muy excelente mejor muchas muchos varias varios permite ofrece outil fonction "
    "utile puissant puissante pratique facile facilement très meilleur plusieurs permet offre ferramenta função "
    "prático muito ótimo melhor strumento funzione comodo molto ottimo migliore инструмент функция полезный мощный "
    "удобный очень отличный лучший простой легко позволяет 도구 기능 매우 유용한 강력한 편리한 아주 좋은 쉽게 "
    "사용할 제공합니다 입니다 있습니다 다양한"
)
"""Praise, and words that fit any tool: no information for an agent."""

EMPTY_RUNS = _words(
    "非常 十分 强大 強大 强力 強力 有用 好用 实用 實用 方便 便捷 便利 高效 简单 簡單 容易 易用 优秀 優秀 最好 最佳 "
    "智能 全面 专业 專業 这个 這個 这是 這是 一个 一個 一种 一種 工具 功能 可以 能够 能夠 各种 各種 多种 多種 很多 "
    "许多 情况 情況 场景 場景 使用 提供 帮助 幫助 とても 非常に 強力 便利 簡単 優れた 素晴らしい 最高 様々な "
    "さまざまな 多くの ツール 機能 この これは です ます することができ"
)
"""The same in scripts without spaces."""

VERBS = _words(
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

NEEDS_NUMBER = _words(
    "max min maximum minimum limit maximal máximo mínimo massimo höchstens mindestens максимум минимум 최대 최소 "
    "最多 最大 最少 至少 最小 上限 不超过 不超過"
) | {"up to", "at most", "at least", "no more"}
"""Words that name a limit only next to a number: "at most 100", but not "the minimum frequency"."""

ONLY_FIRST = _words("note hinweis")
"""Words that warn at the start of a sentence, and are topics elsewhere."""

OBLIGATIONS = _words("must important muss müssen debe deben doit deve moet должен 반드시")
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
