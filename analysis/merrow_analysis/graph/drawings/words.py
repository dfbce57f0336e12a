"""Words by which people say where a drawing begins and ends, and yes and no, in thirteen languages."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BEGINNINGS = _words(
    "start begin input go 开始 開始 输入 輸入 начало старт ввод inicio comienzo entrada début debut entrée beginn anfang eingabe "
    "início inizio ingresso 시작 입력 スタート 入力 البداية بداية başla başlangıç bắt_đầu"
)
ENDS = _words(
    "end stop output result answer done finish finished exit complete completed terminate 结束 完成 停止 终止 結束 終了 完了 "
    "输出 輸出 结果 結果 конец стоп готово вывод результат fin final listo salida resultado terminado terminé sortie résultat "
    "ende fertig ausgabe ergebnis fim concluído saída fine finito uscita risultato 끝 종료 완료 출력 النهاية نهاية تم son "
    "bitti kết_thúc"
)
OUTCOMES = _words(
    "success succeeded successful passed failure failed fail error approved accepted rejected denied cancelled canceled "
    "aborted 成功 通过 失败 失敗 错误 拒绝"
)
"""What comes of something: where nothing follows, nobody is asked to do it."""
YES = _words(
    "yes y true ok okay pass passed success valid approve approved accept accepted continue done complete completed "
    "是 有 はい да sí si oui ja sim sì 예 نعم evet 通过 成功"
)
NO = _words(
    "no n false fail failed failure error invalid reject rejected deny denied retry "
    "否 无 無 いいえ нет non nein não 아니오 아니요 لا hayır 不通过 失败 失敗"
)

_BETWEEN_WORDS = re.compile(r"[\W_]+")
_QUESTION = re.compile(r"[?？؟]\s*\Z")


def is_called(text: str, name: str, words: frozenset[str]) -> bool:
    """Whether all of a text, or an id, is one of some words."""
    phrase = _BETWEEN_WORDS.sub(" ", text).strip().casefold()
    return phrase in words or phrase.replace(" ", "_") in words or name.casefold() in words


def has_words(text: str) -> bool:
    """Whether there is a letter or a digit in a text."""
    return _BETWEEN_WORDS.sub("", text) != ""


def is_question(text: str) -> bool:
    """Whether a text ends in a question mark."""
    return _QUESTION.search(text) is not None


def yes_or_no(label: str) -> bool | None:
    """What the first word of a label says; None where that is neither yes nor no."""
    first = _BETWEEN_WORDS.sub(" ", label.casefold()).strip().partition(" ")[0]
    return True if first in YES else False if first in NO else None
