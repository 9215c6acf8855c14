"""Prints table.txt, the answers of SymPy to the questions below: python table.py > table.txt

A line is `kind | question | answer`; inputs are real. Powers are written with ^.
"""

import sympy as sp

x, y, z, a = sp.symbols("x y z a", real=True)
p, q = sp.symbols("p q", positive=True)
NAMES = {"x": x, "y": y, "z": z, "a": a, "p": p, "q": q, "ln": sp.log, "abs": sp.Abs, "pi": sp.pi, "inf": sp.oo,
         "cbrt": sp.real_root, "pow": sp.Pow, "log2": lambda u: sp.log(u, 2)}


def read(text):
    return sp.sympify(text.replace("^", "**"), locals=NAMES, rational=True)


def text(expression):
    out = sp.sstr(expression, order="lex").replace("**", "^").replace("log(", "ln(").replace("Abs(", "abs(")
    return "exp(1)" if out == "E" else out.replace("oo", "inf")


FACTOR = """
x^4 + 4
x^6 - 1
x^4 + 1
x^8 + x^4 + 1
x^5 + x + 1
x^12 - 1
x^4 - 10*x^2 + 1
x^8 - 40*x^6 + 352*x^4 - 960*x^2 + 576
6*x^3 - 5*x^2 - 17*x + 6
12*x^5 - 8*x^4 + 3*x^3 - 2*x^2
x^2/4 - 1/9
(x^3 + 2*x + 1)^3*(x^2 - 3)^2
x^10 - 1024
x^24 - 1
2*x^4 + 5*x^3 - 8*x^2 - 17*x - 6
x^2 - y^2
x^3 - y^3
x^4 + 4*y^4
x^6 - y^6
x^2*y + x*y^2 - x - y
x^2 + 2*x*y + y^2 - z^2
x^3 + y^3 + z^3 - 3*x*y*z
(x + y + z)^3 - x^3 - y^3 - z^3
x^2*y^2 + x^2 + y^2 + 1
x^4 + x^2*y^2 + y^4
""".strip().splitlines()

CANCEL = """
1/(x - 1) - 1/(x + 1)
(x^2 - 1)/(x^2 + 2*x + 1)
(x^3 - y^3)/(x^2 - y^2)
1/x + 1/y + 1/z
x/(1 + 1/(x + 1/x))
(x^100 - 1)/(x^60 - 1)
1/(x*(x + 1)) + 1/((x + 1)*(x + 2)) + 1/(x*(x + 2))
(x^2 + x*y)/(x*y + y^2)
(1/x - 1/y)/(1/x^2 - 1/y^2)
a/(x - a) - x/(a - x)
(x^4 + 4)/(x^2 + 2*x + 2)
((x + 1)^5 - (x - 1)^5)/(5*x^4 + 10*x^2 + 1)
1/(x^2 - 3*x + 2) + 1/(x^2 - 5*x + 6)
(exp(2*x) - 1)/(exp(x) - 1)
(exp(3*x) + 1)/(exp(x) + 1)
""".strip().splitlines()

# What simplify, expand_log or a rewriting with exponentials shows; the answer is checked to be equal below.
RULES = """
cosh(x)^2 - sinh(x)^2 | 1
cosh(x) + sinh(x) | exp(x)
sinh(2*x) | 2*sinh(x)*cosh(x)
cosh(x + y) | cosh(x)*cosh(y) + sinh(x)*sinh(y)
tanh(x) | sinh(x)/cosh(x)
1/(1 + exp(-x)) + 1/(1 + exp(x)) | 1
ln(exp(x)) | x
ln(x*exp(y)) | ln(x) + y
ln(12*x) | 2*ln(2) + ln(3) + ln(x)
ln(x^3) | 3*ln(x)
exp(2*ln(p) + x) | p^2*exp(x)
exp(ln(p)/2) | sqrt(p)
sqrt(x^2) | abs(x)
sqrt(x^4*y^2) | x^2*abs(y)
abs(x)^2 | x^2
sin(asin(x)) | x
cos(asin(x)) | sqrt(1 - x^2)
sin(atan(x)) | x/sqrt(1 + x^2)
tan(atan(x)) | x
cosh(asinh(x)) | sqrt(1 + x^2)
asinh(sinh(x)) | x
asin(sin(1)) | 1
""".strip().splitlines()

# Rules whose condition does not hold: two forms that differ, with a point that shows it.
KEPT = """
ln(x*y) | ln(x) + ln(y) | x=-1,y=-2
ln(x^2) | 2*ln(x) | x=-2
sqrt(x^2) | x | x=-1
atan(tan(x)) | x | x=2
asin(sin(x)) | x | x=2
acos(cos(x)) | x | x=-1
acosh(cosh(x)) | x | x=-1
sqrt(x*y) | sqrt(x)*sqrt(y) | x=-1,y=-4
""".strip().splitlines()

SERIES = """
sin(x) | 0 | 8
exp(x)*cos(x) | 0 | 6
tan(x) | 0 | 8
ln(1 + x)/x | 0 | 5
1/sin(x) | 0 | 5
x/(exp(x) - 1) | 0 | 7
sqrt(1 + x) | 0 | 5
asin(x) | 0 | 8
exp(sin(x)) | 0 | 6
1/(1 - x - x^2) | 0 | 8
ln(x) | 2 | 4
cos(x) | pi/3 | 4
1/(x^2 - 1) | 1 | 3
(1 + x)^a | 0 | 4
tanh(x) | 0 | 8
""".strip().splitlines()

LIMIT = """
sin(x)/x | 0 | +-
(1 - cos(x))/x^2 | 0 | +-
(1 + 1/x)^x | inf | -
(tan(x) - sin(x))/x^3 | 0 | +-
(exp(a*x) - 1)/x | 0 | +-
x*ln(x) | 0 | +
x^x | 0 | +
x^10*exp(-x) | inf | -
sqrt(x^2 + x) - x | inf | -
abs(x)/x | 0 | -
abs(x)/x | 0 | +
""".strip().splitlines()

BIG = """
2^200 + 3^100
(2^64*x + 1)^5
(x + 10^20)^3
(1/3^50 + 1/7^40)*x
""".strip().splitlines()


def main():
    print(f"# SymPy {sp.__version__}; made by table.py")
    for line in FACTOR:
        constant, factors = sp.factor_list(read(line))
        parts = [text(constant)] + [f"{text(f)} @ {e}" for f, e in factors]
        print("factor |", line, "|", " ; ".join(parts))
    for line in CANCEL:
        above, below = sp.fraction(sp.cancel(sp.together(read(line))))
        print("cancel |", line, "|", text(sp.expand(above)), ";", text(sp.expand(below)))
    for line in RULES:
        left, right = map(read, line.split(" | "))
        for at in ({x: 0.3, y: 0.7, p: 1.3}, {x: 0.9, y: -0.4, p: 0.2}):
            assert abs(sp.N((left - right).subs(at))) < 1e-12, line
        print("rule |", line)
    for line in KEPT:
        left, right, at = line.split(" | ")
        values = {NAMES[n]: sp.Integer(v) for n, v in (pair.split("=") for pair in at.split(","))}
        assert abs(sp.N((read(left) - read(right)).subs(values))) > 1e-3, line
        print("kept |", line)
    for line in SERIES:
        f, at, order = line.split(" | ")
        point = read(at)
        terms = sp.series(read(f), x, point, int(order)).removeO()
        print("series |", line, "|", text(terms))
    for line in LIMIT:
        f, at, side = line.split(" | ")
        print("limit |", line, "|", text(sp.limit(read(f), x, read(at), side)))
    for line in BIG:
        print("big |", line, "|", text(sp.expand(read(line))))


main()
