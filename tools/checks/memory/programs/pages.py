"""Pages of XML, made, parsed, searched and changed with lxml."""

from __future__ import annotations

from lxml import etree


def page(count: int) -> bytes:
    """Return the text of a page."""
    root = etree.Element("page")
    for number in range(count):
        item = etree.SubElement(root, "item", number=str(number))
        name = etree.SubElement(item, "name")
        name.text = f"item {number}" * 3
        item.set("kind", "even" if number % 2 == 0 else "odd")
    return etree.tostring(root, pretty_print=True)


def shortened(data: bytes) -> bytes:
    """Return a page without its odd items."""
    root = etree.fromstring(data)
    for item in root.xpath("//item[@kind='odd']"):
        root.remove(item)
    names = [name.text for name in root.iter("name")]
    root.set("names", " ".join(names[:50]))
    return etree.tostring(root)


def transformed(data: bytes) -> str:
    """Return the page as a table."""
    sheet = """<xsl:stylesheet version="1.0"
        xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
        <xsl:template match="/page"><table><xsl:for-each select="item">
        <tr><td><xsl:value-of select="name"/></td></tr>
        </xsl:for-each></table></xsl:template></xsl:stylesheet>"""
    style = etree.XSLT(etree.fromstring(sheet))
    table = style(etree.fromstring(data))
    return str(table)


def main() -> None:
    """Run it three times."""
    for _ in range(3):
        data = page(5_000)
        short = shortened(data)
        print(len(data), len(short), len(transformed(short)))


main()
