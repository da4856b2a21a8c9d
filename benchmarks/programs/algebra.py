"""SymPy: calculus, equations, matrices, numbers, and LaTeX of all results."""

import sympy as sp

x, y = sp.symbols("x y")


def calculus() -> list[sp.Basic]:
    """Return derivatives, integrals, a limit and a series."""
    wave = sp.sin(x) ** 2 * sp.exp(-x) + sp.log(1 + x**2)
    found = [sp.diff(wave, x, order) for order in range(1, 4)]
    found.append(sp.integrate(x**2 * sp.exp(x), x))
    found.append(sp.integrate(1 / (x**3 + 1), x))
    found.append(sp.limit(sp.sin(x) / x, x, 0))
    found.append(sp.series(sp.cos(x) * sp.exp(x), x, 0, 8))
    return found


def equations() -> list[object]:
    """Return solutions of polynomials, of a system and of a differential equation."""
    f = sp.Function("f")
    return [
        sp.solve(x**4 - 5 * x**2 + 4, x),
        sp.solve([x + 2 * y - 3, 3 * x - y - 2], [x, y]),
        sp.factor(x**8 - 1),
        sp.apart(1 / (x * (x + 1) * (x + 2)), x),
        sp.simplify((x**2 - 1) / (x - 1) + sp.sin(x) ** 2 + sp.cos(x) ** 2),
        sp.groebner([x**2 + y**2 - 1, x - y], x, y),
        sp.dsolve(f(x).diff(x, 2) + f(x), f(x)),
    ]


def matrices() -> list[object]:
    """Return determinants, eigenvalues and an inverse."""
    powers = sp.Matrix(4, 4, lambda i, j: x ** ((i * j) % 3) + i - j)
    band = sp.Matrix([[2, 1, 0], [1, 2, 1], [0, 1, 2]])
    return [powers.det(), band.eigenvals(), band.inv(), (band**5).trace()]


def numbers() -> list[object]:
    """Return factors, digits of pi, and a prime."""
    return [
        sp.factorint(2**64 + 1),
        sp.pi.evalf(200),
        [number for number in range(2000) if sp.isprime(number)][-1],
        sp.nsimplify(1.6180339887498949, [sp.sqrt(5)]),
    ]


for result in (*calculus(), *equations(), *matrices(), *numbers()):
    print(result if isinstance(result, dict) else sp.latex(result))
