"""Replies that answer nothing: refusals, and the honest `I don't know`."""

import re
from typing import Literal

from ttc.answers.phrases import one_of, repeated

_UNABLE = one_of(
    """cannot can\\s?not can['’]?t unable_to not_able_to not_capable_of won['’]?t
    (?:don['’]?t|do_not)_have_(?:the_)?(?:access|ability)"""
)
_TASK = one_of(
    """assist help see view access open display read recogni[sz]e identify analy[sz]e process provide answer fulfil comply
    interpret examine discuss support determin tell give choose select evaluate complete do_that make confirm say solve find
    look describe generate decide be_certain be_sure continue respond discern accurately definitively reliably"""
)
_MISSING = one_of("provided attached uploaded visible available included missing not_(?:provided|visible|available|shown)")
_REFUSED_LOW = re.compile(
    r"\b(?:sorry|apologi[sz]e|unfortunately)\b.{0,80}\b(?:can(?:no|'|’)?t|cannot|unable|not able|won't|no image|without)"
    r"|\b(?:i|we|this model|the assistant)(?:\s+(?:am|are|'m|'re))?\s*(?:'m|’m|'re)?\s+"
    rf"{repeated('really currently still just simply afraid sorry but')}{_UNABLE}"
    rf"(?:\s+{one_of('be_able_to directly really actually fully yet currently')})*\s*{_TASK}"
    r"|\bas an ai\b|\bi['’]m just an? (?:ai|language)|\bsorry,? (?:but )?i\b"
    r"|\b(?:no|without(?: an?)?| the) (?:image|picture|figure|video|diagram)s? (?:(?:was|were|is|are|has been|have been) )?"
    + _MISSING
    + r"|\b(?:please|could you|can you) (?:re-?upload|upload|provide|share|describe|attach|supply)\b"
    rf"|\b(?:not able|unable) to {_TASK}"
    r"|抱歉|对不起|无法(?:查看|识别|看到|确定|回答|判断|提供)|不能(?:回答|提供|帮助)|申し訳|죄송",
    re.DOTALL,
)
_ABSTAINED_LOW = re.compile(
    r"\b(?:do\s?n['’]?t|do not|dont) (?:really |actually |honestly )?(?:know|have (?:enough|sufficient))|\bno idea\b"
    r"|\b(?:['’]?m|am|are) (?:really |honestly |quite |completely )?(?:not (?:sure|certain)|unsure|uncertain)"
    r"|\b(?:can ?not|can['’]?t|could not|couldn['’]?t|impossible to) (?:be )?"
    r"(?:determin|known|answer|decid|tell|say|conclud|infer)"
    r"|\b(?:insufficient|not enough|inadequate|lack of) (?:information|data|context|detail|evidence)"
    r"|\bnone of (?:the )?(?:above|these|those|options|given|listed|provided|choices|answers|them)\b"
    r"|\b(?:no|none)(?: of)?(?: the)? (?:correct |valid |suitable |matching |listed |given )?(?:options?|choices?|answers?)\b"
    r"|\bnot (?:listed|among|provided|in the (?:options|list)|available|present)\b"
    r"|\b(?:un|in)determin|\bunknown\b|\bunanswerable\b"
    r"|\b(?:is|was|remains|seems|it's) (?:unclear|uncertain|ambiguous|not clear|hard to (?:tell|say))\b"
    r"|不知道|不确定|无法确定|以上都不|都不正确|没有正确"
)
_SPAN = 300
"""Characters at both ends of a long reply in which a refusal is looked for."""
_BLANK = re.compile(
    r"(?:n/?a|none|null|nil|nothing|unknown|unclear|unsure|undefined|no answer|not applicable|pass"
    "|(?:[\U0001f000-\U0001faff\u2639-\u263b][\u200d\ufe0f♀♂]*\\s*)+"
    r"|\?+|[-–—]+|_+|\.+)",
    re.IGNORECASE,
)


def silence(text: str) -> Literal["refused", "abstained"] | None:
    """Whether a reply without an answer says that it gives none, and how; None where it does not say so."""
    if len(text) > 2 * _SPAN:
        text = f"{text[:_SPAN]}\n{text[-_SPAN:]}"
    text = text.lower()
    if _REFUSED_LOW.search(text):
        return "refused"
    if _ABSTAINED_LOW.search(text) or is_blank(text):
        return "abstained"
    return None


def is_blank(text: str) -> bool:
    """Whether a text stands for no answer: `N/A`, `none`, `?`."""
    return bool(_BLANK.fullmatch(text.strip(" \t\n.!*\"'()[]{}$")))
