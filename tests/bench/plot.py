"""Two small charts beside each other, as SVG."""

_WIDTH, _HEIGHT, _MARGIN = 380, 260, 50


def _chart(left, title, unit, points):
    """`points`: {x: nanoseconds}; the x are evenly spaced, whatever they are."""
    highest = max(10, *points.values()) * 1.1
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(points) - 1)
    bottom = _HEIGHT - _MARGIN
    places = []
    parts = [f'<text x="{left + _WIDTH / 2}" y="20" text-anchor="middle">{title}</text>']
    for number, (x, value) in enumerate(points.items()):
        across = left + _MARGIN + number * step
        up = bottom - value / highest * (bottom - 35)
        places.append(f"{across:.1f},{up:.1f}")
        parts.append(f'<text x="{across:.1f}" y="{bottom + 18}" text-anchor="middle">{x:,}</text>')
        parts.append(f'<text x="{across:.1f}" y="{up - 8:.1f}" text-anchor="middle">{value:.0f}</text>')
        parts.append(f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3"/>')
    parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="black"/>')
    parts.append(f'<path d="M{left + _MARGIN} 35V{bottom}H{left + _WIDTH - _MARGIN / 2}" fill="none" stroke="black"/>')
    parts.append(f'<text x="{left + _WIDTH / 2}" y="{bottom + 38}" text-anchor="middle">{unit}</text>')
    return parts


def draw(path, by_objects, by_threads):
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{_HEIGHT}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="white"/>',
        *_chart(0, "added ns per event", "objects that live", by_objects),
        *_chart(_WIDTH, "added ns per event", "threads, each its own objects", by_threads),
        "</svg>",
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")
