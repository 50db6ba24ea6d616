package tool

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

var (
	errTooLarge = errors.New("a number on the way has more than 10000 digits")
	errNoNumber = errors.New("there is no such number")
)

// bounded turns away numbers that would make the next step slow.
func bounded(n number) (number, error) {
	if n.Num().BitLen() > mostBits || n.Denom().BitLen() > mostBits {
		return number{}, errTooLarge
	}
	return n, nil
}

func combine(operator string, a, b number) (number, error) {
	z := number{new(big.Rat), a.rough || b.rough}
	switch operator {
	case "+":
		z.Add(a.Rat, b.Rat)
	case "-":
		z.Sub(a.Rat, b.Rat)
	case "*":
		z.Mul(a.Rat, b.Rat)
	default:
		if b.Sign() == 0 {
			return number{}, errors.New("division by zero")
		}
		z.Quo(a.Rat, b.Rat)
		if operator == "%" { // a - b*trunc(a/b), with the sign of a
			whole := new(big.Rat).SetInt(new(big.Int).Quo(z.Num(), z.Denom()))
			z.Sub(a.Rat, whole.Mul(whole, b.Rat))
		}
	}
	return bounded(z)
}

// raise is exact for whole exponents.
func raise(base, exponent number) (number, error) {
	if !exponent.IsInt() {
		return rough(base, func(x float64) float64 { y, _ := exponent.Float64(); return math.Pow(x, y) })
	}
	if !exponent.Num().IsInt64() {
		return number{}, errTooLarge
	}
	n := exponent.Num().Int64()
	size := int64(max(base.Num().BitLen(), base.Denom().BitLen()))
	times := max(n, -n)
	switch {
	case n < 0 && base.Sign() == 0:
		return number{}, errors.New("division by zero")
	case times < 0, size > 1 && times > mostBits/(size-1):
		return number{}, errTooLarge
	case size <= 1: // of 0, 1 and -1, all that matters is whether the exponent is even
		times = min(times, 2+times%2)
	}
	top := new(big.Int).Exp(base.Num(), big.NewInt(times), nil)
	bottom := new(big.Int).Exp(base.Denom(), big.NewInt(times), nil)
	if n < 0 {
		top, bottom = bottom, top
	}
	return bounded(number{new(big.Rat).SetFrac(top, bottom), base.rough || exponent.rough})
}

// rough computes with the precision of a float64.
func rough(n number, f func(float64) float64) (number, error) {
	x, _ := n.Float64()
	y := new(big.Rat).SetFloat64(f(x)) // nil for what is not finite
	if y == nil {
		return number{}, errNoNumber
	}
	return number{y, true}, nil
}

func constants() map[string]number {
	return map[string]number{
		"pi": {new(big.Rat).SetFloat64(math.Pi), true},
		"e":  {new(big.Rat).SetFloat64(math.E), true},
	}
}

type function func([]number) (number, error)

func functions() map[string]function {
	all := map[string]function{
		"abs":   one(func(n number) (number, error) { return number{new(big.Rat).Abs(n.Rat), n.rough}, nil }),
		"sqrt":  one(root),
		"floor": one(func(n number) (number, error) { return whole(n, floor), nil }),
		"ceil":  one(func(n number) (number, error) { return whole(n, ceil), nil }),
		"round": round, "min": extreme(-1), "max": extreme(1), "sum": sum, "mean": mean, "pow": power, "factorial": one(factorial),
	}
	for name, f := range map[string]func(float64) float64{
		"exp": math.Exp, "log": math.Log, "ln": math.Log, "log2": math.Log2, "log10": math.Log10, "cbrt": math.Cbrt,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
	} {
		all[name] = one(func(n number) (number, error) { return rough(n, f) })
	}
	return all
}

func functionNames() string { return strings.Join(slices.Sorted(maps.Keys(functions())), ", ") }

func one(f func(number) (number, error)) function {
	return func(args []number) (number, error) {
		if len(args) != 1 {
			return number{}, fmt.Errorf("takes 1 argument, not %d", len(args))
		}
		return f(args[0])
	}
}

// root is exact for squares of fractions.
func root(n number) (number, error) {
	if n.Sign() < 0 {
		return number{}, errNoNumber
	}
	top, bottom := new(big.Int).Sqrt(n.Num()), new(big.Int).Sqrt(n.Denom())
	exact := new(big.Rat).SetFrac(top, bottom)
	if new(big.Rat).Mul(exact, exact).Cmp(n.Rat) == 0 {
		return number{exact, n.rough}, nil
	}
	return rough(n, math.Sqrt)
}

// floor and ceil round to a whole number; the denominator of a Rat is positive, so Div rounds down.
func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }

func ceil(x *big.Rat) *big.Int { return new(big.Int).Neg(floor(new(big.Rat).Neg(x))) }

func whole(n number, f func(*big.Rat) *big.Int) number {
	return number{new(big.Rat).SetInt(f(n.Rat)), n.rough}
}

// round rounds half away from zero, to whole numbers or to so many decimal places.
func round(args []number) (number, error) {
	places := int64(0)
	switch {
	case len(args) == 2 && args[1].IsInt() && args[1].Num().IsInt64():
		places = args[1].Num().Int64()
	case len(args) != 1:
		return number{}, errors.New("takes a number and, if wanted, how many decimal places")
	}
	if places < -1000 || places > 1000 {
		return number{}, errors.New("takes at most 1000 decimal places")
	}
	scale, err := raise(number{Rat: big.NewRat(10, 1)}, number{Rat: big.NewRat(places, 1)})
	if err != nil {
		return number{}, err
	}
	scaled := new(big.Rat).Mul(args[0].Rat, scale.Rat)
	half := big.NewRat(int64(scaled.Sign()), 2)
	near := new(big.Int).Quo(half.Add(scaled, half).Num(), half.Denom())
	rounded := new(big.Rat).SetInt(near)
	return number{rounded.Quo(rounded, scale.Rat), false}, nil
}

func extreme(sign int) function {
	return func(args []number) (number, error) {
		best := args[0]
		for _, n := range args[1:] {
			if n.Cmp(best.Rat) == sign {
				best = n
			}
		}
		return best, nil
	}
}

func sum(args []number) (number, error) {
	total, err := number{Rat: new(big.Rat)}, error(nil)
	for _, n := range args {
		if total, err = combine("+", total, n); err != nil {
			return number{}, err
		}
	}
	return total, nil
}

func mean(args []number) (number, error) {
	total, err := sum(args)
	if err != nil {
		return number{}, err
	}
	return combine("/", total, number{Rat: big.NewRat(int64(len(args)), 1)})
}

func power(args []number) (number, error) {
	if len(args) != 2 {
		return number{}, fmt.Errorf("takes 2 arguments, not %d", len(args))
	}
	return raise(args[0], args[1])
}

func factorial(n number) (number, error) {
	const most = 2000
	if !n.IsInt() || n.Sign() < 0 || n.Num().Cmp(big.NewInt(most)) > 0 {
		return number{}, fmt.Errorf("takes a whole number from 0 to %d", most)
	}
	return number{new(big.Rat).SetInt(new(big.Int).MulRange(1, n.Num().Int64())), n.rough}, nil
}
