"""The fit finds the exponent that made the times, and says so where nothing grows."""

from growth_fit import fit

_SIZES = [100, 200, 400, 800, 1600, 3200]


def _made(constant, largest, exponent, noise=(0,) * 6):
    return [constant + largest * (size / _SIZES[-1]) ** exponent + more for size, more in zip(_SIZES, noise)]


def _check_exponent(expected, *rounds, within=0.05):
    found = fit(_SIZES, list(rounds))
    assert abs(found.exponent - expected) <= within, f"{found} and not {expected}"
    assert found.least <= found.exponent <= found.most
    return found


def exponents_are_found():
    for exponent in (0.5, 1, 1.5, 2):
        _check_exponent(exponent, _made(0, 2, exponent))


def a_constant_hides_nothing():
    found = _check_exponent(2, _made(3, 1, 2))
    assert abs(found.constant - 3) < 0.05, found
    _check_exponent(1, _made(0.5, 20, 1))


def what_does_not_grow_has_no_exponent():
    _check_exponent(0, _made(0.5, 0, 1), within=0)
    _check_exponent(0, _made(0.5, 0, 1, (0.02, 0, -0.01, 0.01, 0, 0.03)), within=0)
    _check_exponent(0, _made(2, -1, 1), within=0)


def the_least_times_count_and_the_rounds_show_in_the_spread():
    disturbed = _made(0.5, 4, 1, (0, 0, 0.3, 0, 0, 3))
    found = _check_exponent(1, _made(0.5, 4, 1, (0.1, 0, 0, 0, 0.2, 0)), disturbed, within=0.1)
    assert found.most > 1.1, found


if __name__ == "__main__":
    exponents_are_found()
    a_constant_hides_nothing()
    what_does_not_grow_has_no_exponent()
    the_least_times_count_and_the_rounds_show_in_the_spread()
