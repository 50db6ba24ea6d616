package tool

import (
	"encoding/json"
	"fmt"
	"math/big"
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

// evaluator computes an expression while it parses it, by precedence climbing. Numbers are exact: in float64, 0.1+0.2 is not 0.3.
type evaluator struct {
	tokens []string
	depth  int
}

// precedence of the operators; a sign binds stronger than *, and weaker than ^: -2^2 is -4.
var precedence = map[string]int{"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 4}

const signPrecedence = 3

func evaluate(expression string) (number, error) {
	tokens, err := tokenize(expression)
	if err != nil {
		return number{}, err
	}
	e := &evaluator{tokens: tokens}
	value, err := e.expression(1)
	if err == nil && len(e.tokens) > 0 {
		err = fmt.Errorf("%q is not expected there", e.tokens[0])
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

func (e *evaluator) peek() string {
	if len(e.tokens) == 0 {
		return ""
	}
	return e.tokens[0]
}

// take consumes the next token if it is this one.
func (e *evaluator) take(token string) bool {
	if len(e.tokens) == 0 || e.tokens[0] != token {
		return false
	}
	e.tokens = e.tokens[1:]
	return true
}

func (e *evaluator) expect(token string) error {
	switch {
	case e.take(token):
		return nil
	case e.peek() == "":
		return fmt.Errorf("it ends where %q is expected", token)
	}
	return fmt.Errorf("%q stands where %q is expected", e.peek(), token)
}

// expression computes operands and the operators between them whose precedence is at least this.
func (e *evaluator) expression(least int) (number, error) {
	if e.depth++; e.depth > deepest {
		return number{}, fmt.Errorf("it is nested deeper than %d", deepest)
	}
	defer func() { e.depth-- }()
	left, err := e.operand()
	for err == nil {
		operator := e.peek()
		if precedence[operator] < least {
			return left, nil
		}
		e.tokens = e.tokens[1:]
		left, err = e.apply(operator, left)
	}
	return number{}, err
}

// apply computes the right operand of an operator and its result. Powers associate to the right: 2^3^2 is 2^9.
func (e *evaluator) apply(operator string, left number) (number, error) {
	if operator == "^" {
		right, err := e.expression(precedence["^"])
		if err != nil {
			return number{}, err
		}
		return raise(left, right)
	}
	right, err := e.expression(precedence[operator] + 1)
	if err != nil {
		return number{}, err
	}
	return combine(operator, left, right)
}

// operand is a number, a constant, a call, an expression in parentheses, or one of them with a sign.
func (e *evaluator) operand() (number, error) {
	next := e.peek()
	if next == "" {
		return number{}, fmt.Errorf("it ends where a number is expected")
	}
	e.tokens = e.tokens[1:]
	switch {
	case next == "+":
		return e.expression(signPrecedence)
	case next == "-":
		value, err := e.expression(signPrecedence)
		if err != nil {
			return number{}, err
		}
		return number{new(big.Rat).Neg(value.Rat), value.rough}, nil
	case next == "(":
		value, err := e.expression(1)
		if err != nil {
			return number{}, err
		}
		return value, e.expect(")")
	case next[0] >= '0' && next[0] <= '9' || next[0] == '.':
		return literal(next)
	}
	if value, ok := constants()[strings.ToLower(next)]; ok {
		return value, nil
	}
	return e.call(next)
}

func (e *evaluator) call(name string) (number, error) {
	compute, ok := functions()[strings.ToLower(name)]
	if !ok {
		return number{}, fmt.Errorf("%q is no number and no function; known are %s", name, functionNames())
	}
	if err := e.expect("("); err != nil {
		return number{}, err
	}
	var args []number
	for more := true; more; more = e.take(",") {
		value, err := e.expression(1)
		if err != nil {
			return number{}, err
		}
		args = append(args, value)
	}
	if err := e.expect(")"); err != nil {
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
