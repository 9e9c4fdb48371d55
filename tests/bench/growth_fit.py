"""How a time grows with a size: the exponent k of a + b * size**k.

The constant a is what a run costs however small it is. Without it a start of half a second would hide that the rest is
quadratic.
"""

from dataclasses import dataclass

_STEP = 0.01
_MOST = 3.0
# Growth below both is what the machine does besides, and no exponent is read from it.
_NOISE_SECONDS = 0.1
_NOISE_PART = 0.1


@dataclass(frozen=True)
class Fit:
    constant: float
    exponent: float  # 0: it does not grow
    least: float
    most: float


def _lines(sizes, times, exponent):
    """(squared relative deviation, constant) of the best a >= 0 and b >= 0."""
    xs = [(size / sizes[-1]) ** exponent for size in sizes]
    weights = [1 / time**2 for time in times]
    total = sum(weights)
    mean_x = sum(w * x for w, x in zip(weights, xs)) / total
    mean_t = sum(w * t for w, t in zip(weights, times)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, x in zip(weights, xs))
    slope = sum(w * (x - mean_x) * (t - mean_t) for w, x, t in zip(weights, xs, times)) / spread
    constant = mean_t - slope * mean_x
    if constant < 0:
        constant = 0.0
        slope = sum(w * x * t for w, x, t in zip(weights, xs, times)) / sum(w * x * x for w, x in zip(weights, xs))
    return sum(w * (constant + slope * x - t) ** 2 for w, x, t in zip(weights, xs, times)), constant


def _best(sizes, times):
    """(exponent, constant)"""
    growth = times[-1] - min(times)
    if growth < max(_NOISE_SECONDS, _NOISE_PART * min(times)):
        return 0.0, min(times)
    exponents = [step * _STEP for step in range(1, round(_MOST / _STEP) + 1)]
    tried = [(*_lines(sizes, times, exponent), exponent) for exponent in exponents]
    _, constant, exponent = min(tried)
    return exponent, constant


def fit(sizes, rounds):
    """`rounds`: lists of seconds, one for each size. The exponent is that of the least times of all rounds, because what else
    the machine does can only add. Its spread: what it is without any one of the inner sizes, and by each round alone."""
    least = [min(times) for times in zip(*rounds)]
    exponent, constant = _best(sizes, least)
    others = [_best(sizes, times)[0] for times in rounds]
    for left_out in range(1, len(sizes) - 1):
        others.append(_best(sizes[:left_out] + sizes[left_out + 1 :], least[:left_out] + least[left_out + 1 :])[0])
    return Fit(constant, exponent, min(exponent, *others), max(exponent, *others))
