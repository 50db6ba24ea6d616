package tool

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"text/scanner"
)

// The bounds of a calculation. They keep every step within milliseconds.
const (
	deepest    = 100    // parentheses and signs within each other
	mostBits   = 32_768 // of a numerator or a denominator: some 10,000 digits
	mostDigits = 1000   // of a result that is shown in full
)

// number is a value of a calculation.
type number struct {
	*big.Rat
	rough bool // it went through a function that is not exact
}

// calculate answers with the value of an expression.
func calculate(call Call) (Result, error) {
	var args CalculatorArguments
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return Result{}, failed("The arguments of calculator cannot be read.")
	}
	value, err := evaluate(args.Expression)
	if err != nil {
		return Result{}, failed("The expression cannot be computed: %s.", err)
	}
	return Result{Text: value.String()}, nil
}

// String writes a number in full where it has an end, and to 20 digits where it has none.
func (n number) String() string {
	if n.rough {
		f, _ := n.Float64()
		return fmt.Sprintf("%.15g (rounded)", f)
	}
	if n.IsInt() {
		return shorten(n.Num().String())
	}
	if digits, exact := n.FloatPrec(); exact && digits <= mostDigits {
		return shorten(n.FloatString(digits))
	}
	rounded := new(big.Float).SetPrec(128).SetRat(n.Rat).Text('g', 20)
	if fraction := n.RatString(); len(fraction) <= 60 {
		return fmt.Sprintf("%s (rounded; exactly %s)", rounded, fraction)
	}
	return rounded + " (rounded)"
}

func shorten(digits string) string {
	if len(digits) <= mostDigits {
		return digits
	}
	n, _ := new(big.Float).SetPrec(128).SetString(digits)
	return fmt.Sprintf("%s (rounded; it has %d digits)", n.Text('g', 20), len(digits))
}

// reckoner computes an expression while it reads it, from left to right.
type reckoner struct {
	tokens []string
	depth  int
}

func evaluate(expression string) (number, error) {
	tokens, err := tokenize(expression)
	if err != nil {
		return number{}, err
	}
	r := &reckoner{tokens: tokens}
	value, err := r.sum()
	if err == nil && len(r.tokens) > 0 {
		err = fmt.Errorf("%q is not expected there", r.tokens[0])
	}
	return value, err
}

func tokenize(expression string) ([]string, error) {
	expression = strings.NewReplacer("**", "^", "×", "*", "·", "*", "÷", "/", "−", "-").Replace(expression)
	var wrong error
	s := scanner.Scanner{Mode: scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats}
	s.Init(strings.NewReader(expression))
	s.Error = func(_ *scanner.Scanner, message string) { wrong = fmt.Errorf("%s", message) }
	var tokens []string
	for token := s.Scan(); token != scanner.EOF && wrong == nil; token = s.Scan() {
		tokens = append(tokens, s.TokenText())
	}
	return tokens, wrong
}

func (r *reckoner) peek() string {
	if len(r.tokens) == 0 {
		return ""
	}
	return r.tokens[0]
}

// take goes past the next token if it is one of those.
func (r *reckoner) take(any ...string) (string, bool) {
	if next := r.peek(); next != "" && slices.Contains(any, next) {
		r.tokens = r.tokens[1:]
		return next, true
	}
	return "", false
}

func (r *reckoner) expect(token string) error {
	if _, ok := r.take(token); ok {
		return nil
	}
	if r.peek() == "" {
		return fmt.Errorf("it ends where %q is expected", token)
	}
	return fmt.Errorf("%q stands where %q is expected", r.peek(), token)
}

func (r *reckoner) sum() (number, error) {
	return r.chain(r.product, "+", "-")
}

func (r *reckoner) product() (number, error) {
	return r.chain(r.signed, "*", "/", "%")
}

// chain computes operands with operators of one rank between them.
func (r *reckoner) chain(operand func() (number, error), operators ...string) (number, error) {
	left, err := operand()
	for err == nil {
		operator, ok := r.take(operators...)
		if !ok {
			return left, nil
		}
		var right number
		if right, err = operand(); err == nil {
			left, err = apply(operator, left, right)
		}
	}
	return number{}, err
}

// signed is a power with any number of signs before it: -2^2 is -4.
func (r *reckoner) signed() (number, error) {
	if r.depth++; r.depth > deepest {
		return number{}, fmt.Errorf("it is nested deeper than %d", deepest)
	}
	defer func() { r.depth-- }()
	sign, ok := r.take("-", "+")
	if !ok {
		return r.power()
	}
	value, err := r.signed()
	if err == nil && sign == "-" {
		value.Rat = new(big.Rat).Neg(value.Rat)
	}
	return value, err
}

// power binds to the right: 2^3^2 is 2^9.
func (r *reckoner) power() (number, error) {
	base, err := r.atom()
	if err != nil {
		return number{}, err
	}
	if _, ok := r.take("^"); !ok {
		return base, nil
	}
	exponent, err := r.signed()
	if err != nil {
		return number{}, err
	}
	return raise(base, exponent)
}

// atom is a number, a constant, a function with its arguments, or what stands in parentheses.
func (r *reckoner) atom() (number, error) {
	next := r.peek()
	switch {
	case next == "":
		return number{}, fmt.Errorf("it ends where a number is expected")
	case next == "(":
		r.tokens = r.tokens[1:]
		value, err := r.sum()
		if err == nil {
			err = r.expect(")")
		}
		return value, err
	case next[0] >= '0' && next[0] <= '9' || next[0] == '.':
		r.tokens = r.tokens[1:]
		return literal(next)
	}
	r.tokens = r.tokens[1:]
	if value, ok := constants()[strings.ToLower(next)]; ok {
		return value, nil
	}
	return r.call(next)
}

func (r *reckoner) call(name string) (number, error) {
	compute, ok := functions()[strings.ToLower(name)]
	if !ok {
		return number{}, fmt.Errorf("%q is no number and no function; known are %s", name, functionNames())
	}
	if err := r.expect("("); err != nil {
		return number{}, err
	}
	var args []number
	for {
		value, err := r.sum()
		if err != nil {
			return number{}, err
		}
		args = append(args, value)
		if _, more := r.take(","); !more {
			break
		}
	}
	if err := r.expect(")"); err != nil {
		return number{}, err
	}
	value, err := compute(args)
	if err != nil {
		return number{}, fmt.Errorf("%s: %w", name, err)
	}
	return bounded(value)
}

// literal reads a number. One with a vast exponent is turned away before anybody writes it out.
func literal(text string) (number, error) {
	lower := strings.ToLower(text)
	_, exponent, _ := strings.Cut(lower, "e")
	isHex := strings.HasPrefix(lower, "0x")
	if digits := strings.TrimLeft(exponent, "+-0"); !isHex && len(digits) > 4 || strings.Contains(lower, "p") {
		return number{}, fmt.Errorf("%s is out of bounds", text)
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return number{}, fmt.Errorf("%q is not a number", text)
	}
	return bounded(number{Rat: value})
}
