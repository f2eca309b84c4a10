"""Settings of the documentation site: sphinx-build -W docs docs/_build/html."""

import os
import re
import runpy
import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

import nim_env

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
NOTEBOOKS = ROOT / "examples" / "notebooks"  # pages must lie below this folder
shutil.copytree(
    NOTEBOOKS,
    FOLDER / "notebooks",
    ignore=shutil.ignore_patterns("*.gif"),
    dirs_exist_ok=True,
)

REPOSITORY = os.environ.get(
    "REPOSITORY"
)  # its address, from the workflow docs.yml

project = "nim-env"
author = "The nim-env authors"
copyright = "2026, The nim-env authors"  # noqa: A001  Sphinx calls it so
version = release = nim_env.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_external_toc",  # _toc.yml, so that plain Markdown shows no list
    "sphinx-mathjax-offline",
    "sphinxext.opengraph",
]
exclude_patterns = ["_build"]
nitpicky = True  # a reference to nothing is a warning
# the names of other libraries have no links: intersphinx would need the network, and this build has none
OTHER = "abc|argparse|collections|gymnasium|jax|np|numpy|os|pathlib|pettingzoo|pgx|pygame|stable_baselines3|typing"
nitpick_ignore_regex = [
    ("py:.*", rf"({OTHER})\..*"),
    # NumPy's alias and what is private
    ("py:class", r"(\w+\.)*(NDArray|_\w+)"),
]

pygments_dark_style = "github-dark"  # the default underlines modules like links
html_theme = "furo"
html_title = f"nim-env {version}"
html_logo = html_favicon = "pictures/logo.svg"
html_scaled_image_link = False
html_static_path = ["_static", "../examples/pictures/play_in_browser_dark.png"]
html_css_files = ["custom.css"]
if REPOSITORY:
    owner, name = REPOSITORY.split("/")[-2:]
    html_baseurl = ogp_site_url = f"https://{owner}.github.io/{name}/"
    html_theme_options = {
        "source_repository": REPOSITORY,
        "source_branch": "main",
        "source_directory": "docs/",
        "footer_icons": [
            {
                "name": "Repository",
                "url": REPOSITORY,
                "html": "Repository",
                "class": "repository",
            }
        ],
    }
ogp_image = "_static/preview.png"
ogp_image_alt = "A game of Nim, and the map of positions of a learner with 2 mistakes in 335"
ogp_social_cards = {"enable": False}
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output are not copied

myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 4
nb_execution_mode = (
    "off"  # the notebooks hold their outputs, and tests run them
)

add_module_names = False  # the title of the page names the module
autodoc_member_order = "bysource"
autodoc_mock_imports = [
    "jax",
    "open_spiel",
    "pgx",
    "pyspiel",
    "sb3_contrib",
    "stable_baselines3",
    "torch",
]
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True

ARRAY = re.compile(r"~?(\w+\.)*NDArray\[[~.\w]+\]")

PAGES = {  # whose docstrings are pages, in Markdown
    "nim_env.envs.gym_env.NimEnv": "environments/nim",
    "nim_env.envs.vector_env.NimVectorEnv": "environments/vector",
    "nim_env.envs.aec_env": "environments/aec",
}


ELSEWHERE = {  # files outside this folder that are pages
    "CHANGELOG.md": "/changelog",
    "CONTRIBUTING.md": "/contributing",
    **{
        f"examples/notebooks/{path.name}": f"/notebooks/{path.stem}"
        for path in NOTEBOOKS.glob("*.ipynb")
    },
}

docstring = runpy.run_path(str(FOLDER / "scripts" / "generate.py"))["docstring"]
filled = runpy.run_path(str(FOLDER / "scripts" / "fill_page.py"))["filled"]


def fill_docstrings(app, docname, source):  # noqa: ARG001
    """A page marks the place of a docstring, which is Markdown, by a comment. Its sections become subsections."""

    def subsections(found):
        return re.sub("^## ", "### ", docstring(found[1]), flags=re.MULTILINE)

    source[0] = re.sub(r"<!-- docstring (.+) -->", subsections, source[0])


class LinksToRepository(SphinxTransform):
    """A link to a file outside this folder leads to its page or to the repository."""

    default_priority = 700

    def apply(self):
        for node in list(self.document.findall(addnodes.download_reference)):
            self.replace(
                node, Path(self.env.relfn2path(node["reftarget"])[1]).resolve()
            )
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["refdomain"] == "doc" and node["reftarget"].startswith(
                "/"
            ):  # outside, without its suffix
                path = Path(node["reftarget"])
                self.replace(node, next(path.parent.glob(f"{path.name}.*")))

    def replace(self, node, path):
        if FOLDER in path.parents:
            return
        file = path.relative_to(ROOT).as_posix()
        link = nodes.inline()  # without an address, its text alone
        if REPOSITORY:
            link = nodes.reference(refuri=f"{REPOSITORY}/blob/main/{file}")
        if file in ELSEWHERE:
            link = addnodes.pending_xref(
                reftype="doc",
                refdomain="std",
                reftarget=ELSEWHERE[file],
                refexplicit=True,
            )
        elif file == "examples/page/index.html":  # copy_page copies it
            folder = "../" * self.env.docname.count("/")
            link = nodes.reference(refuri=f"{folder}page/index.html")
        link += nodes.inline("", "", *node.children)
        node.replace_self(link)


class UnbrokenBoards(SphinxTransform):
    """A board such as 1-3-5-7 and a player such as take-3 do not break at their hyphens."""

    default_priority = 900
    verbatim = (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw)

    def apply(self):
        for text in list(self.document.findall(nodes.Text)):
            parts = re.split(r"(\b(?:\d+|take)(?:-\d+)+\b)", text)
            if len(parts) == 1 or isinstance(text.parent, self.verbatim):
                continue
            unbroken = [
                nodes.inline("", part, classes=["unbroken"]) for part in parts
            ]
            unbroken[::2] = [nodes.Text(part) for part in parts[::2]]
            text.parent.replace(text, unbroken)


def label_objects(app, env):  # noqa: ARG001
    """Links such as ``api/nim_env.game.md#nim_env.rules.NimRules`` lead to the object on the page."""
    labels = env.get_domain("std").anonlabels
    for name, entry in env.get_domain("py").objects.items():
        labels[name] = entry.docname, entry.node_id


def link_to_page(app, what, name, documented, options, lines):  # noqa: ARG001
    """The API reference links to the page of an environment instead of repeating its docstring."""
    if name in PAGES:
        lines[1:] = ["", f"Its page is :doc:`/{PAGES[name]}`.", ""]


def shorten_types(app, what, name, documented, options, lines):  # noqa: ARG001
    """The types of attributes without the modules that define them, as in signatures."""
    modules = r"(numpy\._\w+|nim_env|agents)\.([a-z_]+\.)*"
    lines[:] = [
        re.sub(modules, "", ARRAY.sub("~numpy.ndarray", line))
        if line.startswith(":vartype")
        else line
        for line in lines
    ]


def shorten_signature(*arguments):
    """Arrays without their dtype, which the description says with the shape."""
    return [
        text and ARRAY.sub("~numpy.ndarray", text) for text in arguments[-2:]
    ]


def skip_fields(app, what, name, documented, skip, options):  # noqa: ARG001
    """The fields of a named tuple are described in the docstring of the tuple."""
    return (
        True
        if (documented.__doc__ or "").startswith("Alias for field number")
        else None
    )


def resolve_short_name(app, env, node, contnode):
    """``NimRules.positions`` refers to ``nim_env.rules.NimRules.positions`` in every docstring."""
    domain = env.get_domain("py")
    target = re.sub(
        r".*\._\w+\.", "", node["reftarget"]
    )  # a public name that is defined in a private module
    names = [name for name in domain.objects if name.endswith(f".{target}")]
    if len({domain.objects[name].node_id for name in names}) != 1:
        return None
    entry = domain.objects[names[0]]
    return make_refnode(
        app.builder, node["refdoc"], entry.docname, entry.node_id, contnode
    )


def link_figures(app, doctree, docname):
    """A figure that is not in a link leads to its file, where one can enlarge it."""
    linked = {
        image
        for link in doctree.findall(nodes.reference)
        for image in link.findall(nodes.image)
    }
    for image in list(doctree.findall(nodes.image)):
        if image in linked or image["uri"] not in app.env.images:
            continue
        file = app.env.images[image["uri"]][1]
        link = nodes.reference(
            refuri=f"{'../' * docname.count('/')}_images/{file}"
        )
        image.replace_self(link)
        link += image


def finish_page(app, pagename, templatename, context, doctree):  # noqa: ARG001
    """The notebooks are edited in their own folder, headings have a level, and no link is in a link."""
    if pagename.startswith("notebooks/"):
        context["theme_source_directory"] = "examples/"
    context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )
    if re.search(r"<a\b((?!</a>).)*<a\b", context.get("body", ""), re.DOTALL):
        message = f"{pagename} has a link in a link"
        raise ExtensionError(message)


def copy_page(app, exception):
    """The page on which you play, which play.md embeds."""
    if exception is None and app.builder.format == "html":
        ignored = shutil.ignore_patterns("get_python.py", "__pycache__")
        page = Path(app.outdir) / "page"
        shutil.copytree(
            ROOT / "examples" / "page",
            page,
            ignore=ignored,
            dirs_exist_ok=True,
        )
        index = page / "index.html"
        html = filled(index.read_text(encoding="utf-8"), REPOSITORY)
        index.write_text(html, encoding="utf-8")
        program = page / "program.html"
        html = filled(program.read_text(encoding="utf-8"), None)
        program.write_text(html, encoding="utf-8")


def setup(app):
    app.add_transform(LinksToRepository)
    app.add_transform(UnbrokenBoards)
    app.connect("autodoc-process-docstring", link_to_page)
    app.connect("autodoc-process-docstring", shorten_types, priority=900)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("build-finished", copy_page)
    app.connect("doctree-resolved", link_figures)
    app.connect("env-updated", label_objects)
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("missing-reference", resolve_short_name)
    app.connect("source-read", fill_docstrings)
