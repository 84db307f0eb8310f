"""The figures that the LUFY paper prints in its tables 1, 4, 5 and 6: per system, sessions 1 to 4 and its average. None of them is ours."""

from collections.abc import Mapping

from studyplatform.analysis.tables.published import Row

SIZE: Mapping[str, float] = {"turns": 253.8, "words": 5538.5}

RATINGS: Mapping[str, Mapping[str, Row]] = {  # table 4
    "naive_rag": {
        "personalization": (3.94, 3.85, 3.89, 3.76, 3.83),
        "flow": (3.86, 3.46, 3.57, 3.20, 3.41),
        "overall": (3.82, 3.65, 3.74, 3.50, 3.63),
    },
    "memory_bank": {
        "personalization": (3.87, 3.95, 3.87, 3.56, 3.79),
        "flow": (3.69, 3.58, 3.64, 3.31, 3.51),
        "overall": (3.85, 3.75, 3.64, 3.36, 3.58),
    },
    "lufy": {
        "personalization": (3.94, 4.13, 3.98, 4.04, 4.05),
        "flow": (3.78, 3.63, 3.57, 3.72, 3.64),
        "overall": (3.80, 3.81, 3.74, 3.80, 3.78),
    },
}

SENTIMENT: Mapping[str, Row] = {  # table 5
    "naive_rag": (0.58, 0.51, 0.38, 0.32, 0.40),
    "memory_bank": (0.58, 0.47, 0.34, 0.30, 0.38),
    "lufy": (0.58, 0.43, 0.45, 0.62, 0.50),
}

MODEL_RATING: Mapping[str, Row] = {  # table 6
    "naive_rag": (3.71, 3.53, 3.38, 3.18, 3.36),
    "memory_bank": (3.71, 3.53, 3.44, 3.21, 3.39),
    "lufy": (3.71, 3.53, 3.32, 3.50, 3.45),
}
