"""The words in which answers are stated, taken back, hedged and refused, as patterns.

Patterns whose names end in LOW are for text in lower case, which is searched several times as fast as text of either case.
"""

import re


def one_of(phrases: str) -> str:
    """A pattern for any of the phrases, which stand apart by blanks; `_` in a phrase stands for the blanks in it."""
    return "(?:" + "|".join(phrase.replace("_", r"\s+") for phrase in phrases.split()) + ")"


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


def repeated(phrases: str) -> str:
    """A pattern for any number of the phrases, each with the blanks behind it."""
    return rf"(?:{one_of(phrases)}\s+)*"


STARTERS = one_of(
    """The This That It Its In At As A An Since Because So Therefore Thus Hence For If We I You He She They There These Those
    When While With From By To On And But Or Not Here However Option Explanation Note Both Other Each All None Only Wait"""
)
SENTENCE_END = rf"(?:(?<=[!?])|(?<=\.)(?<!\b[A-Z]\.)|(?<=\.)(?=\s+{STARTERS}\b))\s+(?=[A-Z\"(])"
"""Where a sentence ends and another begins; the dot of an initial (`J. S. Bach`) ends none."""

START_LOW = r"(?<![a-z])"
_START = r"(?<![A-Za-z])"
_OPEN = r"[(\[\"'“⟦]*"
_CLOSE = r"[)\]\"'”⟧]*"
_LONE_LETTER = rf"(?<![A-Za-z0-9'’.\-]){_OPEN}(?P<letter>[A-Za-z]){_CLOSE}(?![A-Za-z0-9'’])"
_INTRODUCING = one_of("options? choices? answers? letter alternative one_labell?ed one_marked")
_INTRO = rf"(?P<intro>(?<![A-Za-z])(?i:(?:only\s+)?{_INTRODUCING}|only)\s+)?"

_BEING = one_of(
    r"""is are remains becomes
    (?:would|will|should|must|(?:(?:would|will)_)?ha(?:s|ve)_to|can_only|could_only)(?:_(?:\w+ly|then|thus|therefore))?_be
    seems(?:_to_be)? appears(?:_to_be)? has_been_determined_to_be turns_out_to_be comes_out_(?:as|to_be) comes_to"""
)
_COPULA = (
    rf"(?:\s*,?\s*{one_of('then therefore thus so hence here again clearly')}\s*,?)?\s*"
    rf"(?:{_BEING}(?![a-z'])(?:\s*:)?|'s(?=\s)|[:：=]+|->|=>|→|⇒|\s[-–—]+(?=\s))"
)
_ABOUT = (
    rf"(?:\s+{one_of('to for of from among amongst in that which here we i according based given provided supported')}"
    r"\b[^.:;\n⟦]{0,80}?)?"
)
_NOUN = one_of(
    "answers? option choice selection pick response solution letter conclusion prediction guess alternative one candidate match"
)
LABEL_LOW = re.compile(rf"{START_LOW}{_NOUN}\b(?:\s*\([^()\n]{{0,30}}\))?{_ABOUT}{_COPULA}\s*")
"""`The answer to this question is`, `Final answer:`, `the closest option would be`."""

_HEADINGS = one_of(
    """(?:(?:final|correct|right|best|my)_)?(?:answer|choice) ans final verdict conclusion result correct(?:ion|ed)? updated?
    edit revised solution output key pick"""
)
HEADING_LOW = re.compile(
    rf"{START_LOW}{_HEADINGS}(?:\s*[:=]|\s*->|\s*→|\.(?=\s*[(\[]?[a-z]\b)|\)(?=\s*[a-z]\b)|(?<=answer)\s*\n|(?<=choice)\s*\n"
    r"|(?<=answer)(?=\s*[(⟦\"']|\s+[a-z]\b)|(?<=correct)\s+is\b|(?<=right)\s+is\b)\s*"
)
"""`Ans:`, `### Answer` above its value, `Answer (B)`, `Correct: `."""
ANSWER_LABEL_LOW = re.compile(r"(?:^|\n)\W*(?:final |correct )*answer\s*:\W*\Z")

_SPEAKER = one_of(
    "i we i'd i'll i'm we'd we'll let's let_us let_me one must should would will can to and so thus hence therefore"
)
_CHOOSING = one_of(
    """choos(?:e|ing) chose select(?:ing|ed)? pick(?:ing|ed)? go(?:ing)?_(?:with|for) opt(?:ing)?_for settl(?:e|ing)_(?:on|for)
    vot(?:e|ing)_for stick(?:ing)?_with lean(?:ing)?_towards? mark guess conclude say bet_on believe think argue deduce infer"""
)
CHOOSE_LOW = re.compile(
    rf"(?:{START_LOW}{_SPEAKER}\s+(?:\w+\s+){{0,3}}?|(?:^|[.!:;,]\s+|\n\s*)){_CHOOSING}\s+"
    r"(?:that\s+)?(?:it\s+is\s+|it's\s+|for\s+)?"
)
"""`I would go with`, `Select`, `we conclude that it is`."""

_INFERRING = one_of(
    """so thus therefore hence consequently accordingly ergo actually instead rather no wait correction finally overall
    in_conclusion in_summary to_conclude in_short leaving(?:_us_with)? (?:which_)?leaves(?:_us_with)? make_that i_mean i_meant
    should_be must_be has_to_be namely i\\.e\\. scratch_that make_it second_thought
    change_(?:it|that|my_(?:final_)?(?:answer|choice|selection))_to
    maybe perhaps probably possibly (?:by_)?(?:the_)?(?:process_of_)?elimination by_exclusion
    (?:if_i_(?:had_to|have_to|must)|if_forced_to|if_pressed_to)_(?:guess|choose|pick|answer|decide)
    as_i_see_it in_my_(?:opinion|view|judge?ment) to_my_mind"""
)
INFER_LOW = re.compile(
    rf"{START_LOW}{_INFERRING}[,:]?\s+"
    r"(?:(?:it|this|that|which)\s*(?:is|'s|must be|has to be|should be|would be)\s+)?(?:only\s+)?"
)
"""`so C`, `actually, it is`, `which leaves`."""

_POINTING = one_of(
    """(?:it|that|this|which|what)'s is are (?:would|will|must|should|has_to)_be correspond(?:s|ing)?_(?:to|with) match(?:es)?
    leads?_(?:us_)?to points?_(?:us_)?to leaves?(?:_us_with)? indicates? suggests? supports? agrees?_with (?:looks|seems)_like
    aligns?_(?:most_)?(?:closely_)?with fits? makes?"""
)
_BEFORE_POINTED = repeated("most best closely only exactly clearly probably likely definitely")
POINTS_LOW = re.compile(rf"{START_LOW}{_POINTING}[,:]?\s+{_BEFORE_POINTED}(?:with )?[:,]?\s*")
"""`it's`, `which corresponds to`, `this matches`."""

_CHINESE = one_of(
    """(?:正确|正確|最终|最終|参考)?答案 正确选项 正確選項 正确的选项 正确的 正確的 结论 而是 应选择? 應選擇? 应该是 應該是
    故选择? 故選擇? 应该选择? 因此选择? 所以选择? 我选择? 选择 選擇 选 選"""
)
_EUROPEAN = one_of(
    """câu_trả_lời opç[ãa]o respuesta opci[oó]n alternativa r[ée]ponse antwort l[öo]sung resposta risposta opzione antwoord
    vastaus svar(?:et)? odpowied[źz] cevap jawaban ответ вариант richtig korrekt correcta đáp_án الإجابة الجواب उत्तर"""
)
_EUROPEAN_CORRECT = one_of(
    "certa giusta exacte correcta correcte finale? correta corretta richtige juste final benar đúng ответа الصحيحة है"
)
_EUROPEAN_IS = one_of("jest on es est ist é è er är is adalah là هي हो to lautet sería serait wäre seria sarebbe")
_EUROPEAN_SO = repeated("donc alors entonces daher also demnach somit folglich quindi dunque portanto então pues")
_EUROPEAN_RIGHT = one_of(
    """(?:die_)?richtige? korrekt zutreffend (?:la_)?correcta (?:la_)?correcte? (?:a_)?correta (?:la_|quella_)?corretta juste
    bonne certa poprawna prawidłowa"""
)
_EUROPEAN_CHOOSING = one_of(
    "sondern ich_wähle ich_nehme je_choisis elijo escojo escolho scelgo es_ist c'est wybieram я_выбираю"
)
FOREIGN_LOW = re.compile(
    rf"{_CHINESE}\]?(?:应该|应当|應該|应|就|只能)?(?:是|为|為|：|:|\s)*"
    r"|(?:答え|正解|回答|解答|こたえ)\s*(?:は|：|:)\s*|(?:정답|답)\s*(?:은|는|이|:)?\s*"
    rf"|{START_LOW}(?:{_EUROPEAN_CHOOSING}\s+|{_EUROPEAN}(?:\s+{_EUROPEAN_CORRECT})*\s*(?:[:=—–-]|\s{_EUROPEAN_IS}(?=\s))\s*)"
    + _EUROPEAN_SO
    + repeated("la le die el a l'option option opci[oó]n opzione letra lettre lettera buchstabe alternativa antwort r[ée]ponse")
)
FOREIGN_VERDICT = re.compile(
    rf"(?:只有|唯有|选项|選項|選択肢)?\s*{_START}[(\[]?([A-Z])[)\]]?\s*(?:选项|選項|项|項|が|는|가|번이)?\s*"
    r"(?:是|才是|为|為)?(?:唯一|最)?\s*(?:正确|正確|对的|符合|最佳|最合适|合适|成立|正しい|正解|정답)"
)
EUROPEAN_VERDICT = re.compile(
    rf"{_START}(?i:{_EUROPEAN})\s+[(\[]?([A-Z])[)\]]?\s+(?:(?i:{_EUROPEAN_IS}|está)\s+)?{_EUROPEAN_SO}(?i:{_EUROPEAN_RIGHT})\b"
)
"""`Antwort B ist richtig`, `la opción B es correcta`."""
NOT_FOREIGN = re.compile(r"(?:不|非|没|未|排除|不能|不应|错误)[^。，,；;\n]{0,3}$")

_PRAISE = one_of(
    """correct right answer best better closest accurate appropriate choice option suitable valid most what_(?:[Ii]|we)
    more_(?:accurate|likely|appropriate|suitable|plausible|correct|precise|consistent)"""
)
_SEEMING = one_of("is must_be would_be should_be has_to_be seems(?:_to_be)? appears(?:_to_be)? looks remains")
_BEFORE_PRAISE = repeated(r"\w+ly also still thus the our my indeed most only best single one that_is which_is in_fact")
_CONDITION = one_of("if only_if when unless in_that about to_say")
VERDICT = re.compile(
    rf"{_INTRO}{_LONE_LETTER}(?:[.:)]?\s*(?:[(\"“,–—-][^\n()\"”]{{0,80}}[)\"”,–—-])?),?\s*"
    rf"(?:{_SEEMING}|[:–—-])\s+{_BEFORE_PRAISE}{_PRAISE}\b(?!\s+{_CONDITION})"
)
"""`Option B is the correct answer`, `(C), the second, is right`."""
_BEFORE_FITTING = repeated(r"therefore best clearly correctly most_\w+ also accurately alone")
_FITTING = one_of(
    """fits matches satisfies works agrees holds applies remains is_left is_the_only wins answers aligns completes describes
    corresponds meets makes_(?:(?:the_)?(?:more|most)_)?sense stands"""
)
FITS = re.compile(rf"{_INTRO}{_LONE_LETTER}\s*(?:\([^()\n]{{0,80}}\)\s*)?{_BEFORE_FITTING}{_FITTING}\b")
"""`only B fits`, `(C) matches`."""
OPTION_MENTION = re.compile(rf"{_START}(?i:options?|choices?|answer)\s+{_OPEN}([A-Z])(?![A-Za-z0-9'’])")

# for one of these patterns to match, one of these must occur: looking for words is far cheaper than trying patterns
FOREIGN_STEMS = (
    "es ist",
    *words(
        """sondern wähle nehme choisis elijo escojo escolho scelgo wybieram выбираю opç trả 应该 應該 c'est respuesta opci
        alternativa reponse réponse antwo vastaus respost rispost opzione svar odpowied cevap jawaban richtig korrekt correcta
        losung lösung ответ вариант đáp 选 選 答 正 结论 而是 对的 符合 最佳 合适 成立 こたえ 답 الإجابة الجواب उत्तर"""
    ),
)
CHOOSE_STEMS = words(
    "choos chose select pick go opt settl vot stick lean mark guess conclude say bet believe think argue deduce infer"
)
VERDICT_STEMS = words("correct right answer best better close accurate appropriate choice option suitable valid most what more")
FITS_STEMS = words(
    """fit match satisf work agree hold appli remain left only win answer align complet describ correspond meet sense stand"""
)

LEADS_A_LETTER = re.compile(
    r"(?:^|[.,;:!?\n(\-–—>⟦\"]|\b"
    + one_of("so thus therefore hence that because since only and but then think believe conclude say overall clearly")
    + r")\s*$",
    re.IGNORECASE,
)
CLAUSE_BREAK = re.compile(rf"[.,;:!?\n—]|\b{one_of('so but therefore thus hence then however and')}\b", re.IGNORECASE)
DISCOUNTED = re.compile(
    r"\b"
    + one_of(
        r"""if whether suppos\w+ assum\w+ unless had not never doubt\w* deny might may could tempt\w* at_first initially
        was_going_to was_about_to
        mistak\w* misread\w* thought false untrue don't doesn't isn't wouldn't can't cannot seem_as_if someone some_people
        students? many why confus\w+"""
    )
    + r"\b",
    re.IGNORECASE,
)
"""In the clause before a statement: a condition, a denial or somebody else's opinion."""
WRONG_NOUN = re.compile(
    r"\b"
    + one_of(
        r"""wrong incorrect false eliminated rejected second alternative another other initial first original previous earlier
        tempting excluded bad worst common next_best least_likely discarded not_an? not_the(?:_\w+)? old naive unlikely"""
    )
    + r"\s+(?:\w+\s+)?$",
    re.IGNORECASE,
)
"""Before `answer`: an answer that is not the reply's own."""
CORRECTS = re.compile(
    r"\b"
    + one_of(
        r"""actually wait correction corrected instead reconsider\w* reflection mistake oops no, scratch_that hmm revis\w+ sorry
        rather second_thought i_mean"""
    )
    + r"\b",
    re.IGNORECASE,
)
RETRACTED = re.compile(
    r"\b(?:no|wait|oops|hmm|actually|but),?\s[^.\n]{0,30}\b"
    r"(?:(?:that|this|it)(?:'s| is| was| can't be| cannot be| seems)|i was|i made|i am|i'm)\s+(?:\w+\s+)?"
    r"(?:wrong|incorrect|not right|not correct|mistake|error|right)\b|\bscratch that\b"
    r"|\b(?:strike|ignore|disregard) (?:that|this|my)\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    rf"\b{one_of('either might maybe possibly perhaps could_be may_be not_sure unsure uncertain unclear')}\b", re.IGNORECASE
)
EXPLAINS = re.compile(
    one_of("the this it because since as in based given according from to by explanation reason we there here these that")
    + r"\b",
    re.IGNORECASE,
)
NEGATION = re.compile(r"\b(?:not|cannot|never)\b|n['’]t\b", re.IGNORECASE)
REJECTED_BEFORE = re.compile(
    r"(?:\b"
    + one_of(
        r"""not\b cannot\b never\b rather_than\b instead_of\b opposed_to\b except\b neither\b nor\b exclud\w+ eliminat\w+
        rul\w+_out without\b unlike\b no\b than\b"""
    )
    + r"|n't\b|不是|而非)\s*(?:(?!but\b)\w+\s+){0,3}[\"'(]*$",
    re.IGNORECASE,
)
REJECTED_AFTER = re.compile(
    rf"[.)\]\"'”]*\s*(?:{one_of('is was are were seems would_be can could does do has must')}?\s*"
    r"(?:also |clearly |definitely )?"
    r"(?:not\b|n't\b|never|incorrect|wrong|false|ruled out|eliminated|excluded|unlikely|impossible|cannot)"
    r"|(?:is|was|does|would|can|could)n't)",
    re.IGNORECASE,
)
