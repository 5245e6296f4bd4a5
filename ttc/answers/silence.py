"""Replies that answer nothing: refusals, and the honest `I don't know`."""

import re
from typing import Literal

_SUBJECT = r"(?:i|we|this model|the assistant)"
_REFUSED = re.compile(
    rf"\b(?:sorry|apologi[sz]e|unfortunately)\b.{{0,80}}\b(?:can(?:no|'|’)?t|cannot|unable|not able|won't|no image|without)"
    rf"|\b{_SUBJECT}(?:\s+(?:am|are|'m|'re))?\s*(?:'m|’m|'re)?\s+(?:really |currently |still |just |simply |afraid |sorry |but )*"
    r"(?:cannot|can\s?not|can['’]?t|unable to|not able to|not capable of|won['’]?t|don['’]?t have (?:the )?(?:access|ability)|do not have (?:the )?(?:access|ability))"
    r"(?:\s+(?:be able to|directly|really|actually|fully|yet|currently))*\s*"
    r"(?:assist|help|see|view|access|open|display|read|recogni[sz]e|identify|analy[sz]e|process|provide|answer|fulfil|comply|interpret|examine|"
    r"discuss|support|determin|tell|give|choose|select|evaluate|complete|do that|make out|confirm|say|solve|find|look|describe|generate|decide|make|be certain|be sure|continue|respond|discern|accurately|definitively|reliably)"
    r"|\bas an ai\b|\bi['’]m just an? (?:ai|language)|\bsorry,? (?:but )?i\b"
    r"|\b(?:no|without(?: an?)?| the) (?:image|picture|figure|video|diagram)s? (?:was |were |is |are |has been |have been )?(?:provided|attached|"
    r"uploaded|visible|available|included|missing|not (?:provided|visible|available|shown))"
    r"|\b(?:please|could you|can you) (?:re-?upload|upload|provide|share|describe|attach|supply)\b"
    r"|\b(?:not able|unable) to (?:assist|help|see|view|access|determine|identify|recogni[sz]e|answer|analy[sz]e|provide|process)"
    r"|抱歉|对不起|无法(?:查看|识别|看到|确定|回答|判断|提供)|不能(?:回答|提供|帮助)|申し訳|죄송",
    re.DOTALL,
)
_ABSTAINED = re.compile(
    r"\b(?:do\s?n['’]?t|do not|dont) (?:really |actually |honestly )?(?:know|have (?:enough|sufficient))|\bno idea\b"
    r"|\b(?:['’]?m|am|are) (?:really |honestly |quite |completely )?(?:not (?:sure|certain)|unsure|uncertain)"
    r"|\b(?:can ?not|can['’]?t|could not|couldn['’]?t|impossible to) (?:be )?(?:determin|known|answer|decid|tell|say|conclud|infer)"
    r"|\b(?:insufficient|not enough|inadequate|lack of) (?:information|data|context|detail|evidence)"
    r"|\bnone of (?:the )?(?:above|these|those|options|given|listed|provided|choices|answers|them)\b"
    r"|\b(?:no|none)(?: of)?(?: the)? (?:correct |valid |suitable |matching |listed |given )?(?:options?|choices?|answers?)\b[^.\n]{0,30}"
    r"(?:is |are )?(?:correct|match|fit|listed|apply|appl|available|right)?"
    r"|\bnot (?:listed|among|provided|in the (?:options|list)|available|present)\b|\b(?:un|in)determin|\bunknown\b|\bunanswerable\b"
    r"|不知道|不确定|无法确定|以上都不|都不正确|没有正确",
)
_SPAN = 300
"""Characters at both ends of a long reply in which a refusal is looked for."""
_BLANK = re.compile(
    r"(?:n/?a|none|null|nil|nothing|unknown|unsure|undefined|no answer|not applicable|pass|\?+|-+|_+|\.+)", re.IGNORECASE
)


def silence(text: str) -> Literal["refused", "abstained"] | None:
    """Whether a reply without an answer says that it gives none, and how; None where it does not say so."""
    if len(text) > 2 * _SPAN:
        text = f"{text[:_SPAN]}\n{text[-_SPAN:]}"
    text = text.lower()
    if _REFUSED.search(text):
        return "refused"
    if _ABSTAINED.search(text) or is_blank(text):
        return "abstained"
    return None


def is_blank(text: str) -> bool:
    """Whether a text stands for no answer: `N/A`, `none`, `?`."""
    return bool(_BLANK.fullmatch(text.strip(" \t\n.!*\"'()[]{}$")))
