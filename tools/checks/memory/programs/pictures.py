"""Pictures, drawn, filtered and compressed with Pillow."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFilter


def drawn(side: int) -> Image.Image:
    """Return a picture of circles."""
    picture = Image.new("RGB", (side, side), "white")
    pen = ImageDraw.Draw(picture)
    for step in range(0, side, 20):
        colour = (step % 256, step * 7 % 256, step * 13 % 256)
        pen.ellipse((step, step // 2, step + 60, step // 2 + 60), fill=colour)
    return picture


def filtered(picture: Image.Image) -> Image.Image:
    """Return the picture, softer and smaller."""
    soft = picture.filter(ImageFilter.GaussianBlur(3))
    grey = soft.convert("L")
    small = grey.resize((300, 300), Image.Resampling.LANCZOS)
    return small.rotate(30)


def compressed(picture: Image.Image) -> int:
    """Return the size of the picture as a file, read and written again."""
    total = 0
    for kind in ("PNG", "JPEG", "BMP"):
        file = io.BytesIO()
        picture.save(file, kind)
        data = file.getvalue()
        again = Image.open(io.BytesIO(data))
        pixels = again.tobytes()
        total += len(data) + len(pixels)
    return total


def main() -> None:
    """Run it for some sizes."""
    Image.init()  # it would import formats when files are opened
    for side in (400, 800, 1200):
        picture = drawn(side)
        small = filtered(picture)
        print(compressed(picture), compressed(small))


main()
