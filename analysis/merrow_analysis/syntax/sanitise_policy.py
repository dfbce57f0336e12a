"""DOMPurify's default policy: the elements and attributes that may stay in a label."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S+")

HTML_TAGS = frozenset(
    _WORD.findall(
        """
a abbr acronym address area article aside audio b bdi bdo big blink blockquote body br button canvas caption center
cite code col colgroup content data datalist dd decorator del details dfn dialog dir div dl dt element em fieldset
figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i img input ins kbd label legend li
main map mark marquee menu menuitem meter nav nobr ol optgroup option output p picture pre progress q rp rt ruby s
samp search section select shadow slot small source spacer span strike strong sub summary sup table tbody td template
textarea tfoot th thead time title tr track tt u ul var video wbr
"""
    )
)

SVG_TAGS = frozenset(
    _WORD.findall(
        """
svg altglyph altglyphdef altglyphitem animatecolor animatemotion animatetransform circle clippath defs desc ellipse
filter g glyph glyphref hkern image line lineargradient marker mask metadata mpath path pattern polygon polyline
radialgradient rect stop switch symbol text textpath tref tspan view vkern feblend fecolormatrix fecomponenttransfer
fecomposite feconvolvematrix fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb
fefuncg fefuncr fegaussianblur feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting
fespotlight fetile feturbulence
"""
    )
)

MATHML_TAGS = frozenset(
    _WORD.findall(
        """
math menclose merror mfenced mfrac mglyph mi mlabeledtr mmultiscripts mn mo mover mpadded mphantom mroot mrow ms
mspace msqrt mstyle msub msup msubsup mtable mtd mtext mtr munder munderover mprescripts
"""
    )
)

TAGS = HTML_TAGS | SVG_TAGS | MATHML_TAGS

# Elements that go with all that is in them; the others lose only their tags.
REMOVED_WITH_CONTENT = frozenset(
    _WORD.findall(
        """
annotation-xml foreignobject iframe noembed noframes noscript plaintext script selectedcontent style xmp
"""
    )
)

# Elements that may not stay but change how the HTML around them is read.
SPECIAL_TO_HTML = frozenset(
    _WORD.findall(
        """
applet base basefont bgsound embed frame frameset keygen link listing meta object param rb rtc
"""
    )
)

ATTRIBUTES = frozenset(
    _WORD.findall(
        """
accept action align alt autocapitalize autocomplete autopictureinpicture autoplay background bgcolor border capture
cellpadding cellspacing checked cite class clear color cols colspan command commandfor controls controlslist coords
crossorigin datetime decoding default dir disabled disablepictureinpicture disableremoteplayback download draggable
enctype enterkeyhint exportparts face for headers height hidden high href hreflang id inert inputmode integrity ismap
kind label lang list loading loop low max maxlength media method min minlength multiple muted name nonce noshade
novalidate nowrap open optimum part pattern placeholder playsinline popover popovertarget popovertargetaction poster
preload pubdate radiogroup readonly rel required rev reversed role rows rowspan spellcheck scope selected shape size
sizes slot span srclang start src srcset step style summary tabindex title translate type usemap valign value width
wrap xmlns accent-height accumulate additive alignment-baseline amplitude ascent attributename attributetype azimuth
basefrequency baseline-shift begin bias by clip clippathunits clip-path clip-rule color-interpolation
color-interpolation-filters color-profile color-rendering cx cy d dx dy diffuseconstant direction display divisor
dominant-baseline dur edgemode elevation end exponent fill fill-opacity fill-rule filter filterunits flood-color
flood-opacity font-family font-size font-size-adjust font-stretch font-style font-variant font-weight fx fy g1 g2
glyph-name glyphref gradientunits gradienttransform image-rendering in in2 intercept k k1 k2 k3 k4 kerning keypoints
keysplines keytimes lengthadjust letter-spacing kernelmatrix kernelunitlength lighting-color local marker-end
marker-mid marker-start markerheight markerunits markerwidth maskcontentunits maskunits mask mask-type mode numoctaves
offset operator opacity order orient orientation origin overflow paint-order path pathlength patterncontentunits
patterntransform patternunits pointer-events points preservealpha preserveaspectratio primitiveunits r rx ry radius
refx refy repeatcount repeatdur restart result rotate scale seed shape-rendering slope specularconstant
specularexponent spreadmethod startoffset stddeviation stitchtiles stop-color stop-opacity stroke-dasharray
stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke stroke-width surfacescale
systemlanguage tablevalues targetx targety transform transform-origin text-anchor text-decoration text-orientation
text-rendering textlength u1 u2 unicode values vector-effect viewbox visibility version vert-adv-y vert-origin-x
vert-origin-y word-spacing writing-mode xchannelselector ychannelselector x x1 x2 y y1 y2 z zoomandpan accent
accentunder bevelled close columnalign columnlines columnspacing columnspan denomalign depth displaystyle encoding
fence frame largeop length linethickness lquote lspace mathbackground mathcolor mathsize mathvariant maxsize minsize
movablelimits notation numalign rowalign rowlines rowspacing rspace rquote scriptlevel scriptminsize
scriptsizemultiplier selection separator separators stretchy subscriptshift supscriptshift symmetric voffset
"""
    )
)

# Attributes that hold words, whatever these look like; the value of any other must not look like a strange address.
WORD_ATTRIBUTES = frozenset(
    _WORD.findall(
        """
alt class for id label name pattern placeholder role summary title value style xmlns
"""
    )
)

URL_SCHEMES = frozenset(
    _WORD.findall(
        """
http https ftp ftps mailto tel callto sms cid xmpp matrix data
"""
    )
)

# Elements whose address may be a `data:` one.
MAY_HOLD_DATA = frozenset(
    _WORD.findall(
        """
audio video img source image track
"""
    )
)
