"""The addresses of the site in the page on which you play: they are known when the site is built."""

import re


def filled(html: str, repository: str | None) -> str:
    """The page in a site: its links lead to the documentation, one folder above it, and to the repository.

    A link without an address stays hidden. Previews of the page on other sites need the absolute address of the
    site, which follows from the repository's.
    """
    html = re.sub(r'data-page="([\w.#-]+\.html[\w#-]*)"', r'href="../\1"', html)
    if not repository:
        return html
    owner, name = repository.split("/")[-2:]
    site = f"https://{owner}.github.io/{name}"
    preview = {"url": f"{site}/page/index.html", "image": f"{site}/_static/preview.png"}
    tags = "".join(f'<meta property="og:{key}" content="{value}" />\n    ' for key, value in preview.items())
    html = html.replace('data-page="repository"', f'href="{repository}"')
    return html.replace("<title>", f"{tags}<title>", 1)
