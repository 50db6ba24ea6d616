package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/schema"
)

// Bytes is a size in bytes. It is written as 64MiB, 1.5GiB, 200KB or a plain number.
type Bytes int64

// units lists suffixes in the order of matching: B last, because the others end in it.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// String formats a size in the largest binary unit without a fraction.
func (b Bytes) String() string {
	for i := 3; i >= 0; i-- {
		if unit := Bytes(units[i].bytes); b != 0 && b%unit == 0 {
			return strconv.FormatInt(int64(b/unit), 10) + units[i].suffix
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

func parseBytes(text string) (Bytes, error) {
	number, factor := text, 1.0
	for _, unit := range units {
		if len(text) > len(unit.suffix) && strings.EqualFold(text[len(text)-len(unit.suffix):], unit.suffix) {
			number, factor = strings.TrimSpace(text[:len(text)-len(unit.suffix)]), unit.bytes
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || value < 0 || value*factor >= 1<<62 {
		return 0, fmt.Errorf("%q is not a size; write it like 64MiB", text)
	}
	return Bytes(value * factor), nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time span; write it like 30s or 5m", text)
	}
	return d, nil
}

// parseWait parses a positive delay.
func parseWait(raw any) (time.Duration, error) {
	d, err := parseDuration(strings.TrimSpace(fmt.Sprint(raw)))
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not a delay; it must be positive", d)
	}
	return d, err
}

func parseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return n, nil
}

func parseAmount(text string) (float64, error) {
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || !(amount >= 0 && amount <= 1e6) {
		return 0, fmt.Errorf("%q is not an amount of money from 0 to 1000000; write it like 0.05", text)
	}
	return amount, nil
}

// parseHost parses a network, a host or host:port. It does not check whether the host exists.
func parseHost(raw any) (string, error) {
	text := strings.TrimSpace(fmt.Sprint(raw))
	if _, _, isNetwork := strings.Cut(text, "/"); isNetwork {
		if _, err := netip.ParsePrefix(text); err != nil {
			return "", fmt.Errorf("%q is not a network, a host or host:port; write it like 10.1.0.0/16 or files.internal:8443", text)
		}
	}
	return text, nil
}

var tenantName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// parseKey parses tenant:key, or a map of both as in a file. Its errors never show the key.
func parseKey(raw any) (Key, error) {
	tenant, key, ok := "", "", false
	switch v := raw.(type) {
	case map[string]any:
		tenant, key, ok = fmt.Sprint(v["tenant"]), fmt.Sprint(v["key"]), len(v) == 2 && v["tenant"] != nil && v["key"] != nil
	case string:
		tenant, key, ok = strings.Cut(v, ":")
	}
	switch {
	case !ok || key == "":
		return Key{}, errors.New("a key must be tenant:key, or a map with tenant and key")
	case !tenantName.MatchString(tenant):
		return Key{}, errors.New("the tenant of a key must have 1 to 64 letters, digits, dots, dashes or underscores")
	}
	return Key{Tenant: tenant, Key: NewSecret(key)}, nil
}

func parseSwitch(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// assign parses raw, the value in a file, a variable or a flag, into the field.
func (k setting) assign(raw any) error {
	text := strings.TrimSpace(fmt.Sprint(raw))
	switch field := k.field.Addr().Interface().(type) {
	case *string:
		*field = text
	case *Secret:
		*field = NewSecret(text)
	case *bool:
		return into(field, text, parseSwitch)
	case *int:
		return into(field, text, parseInt)
	case *float64:
		return into(field, text, parseAmount)
	case *time.Duration:
		return into(field, text, parseDuration)
	case *Bytes:
		return into(field, text, parseBytes)
	case *[]string:
		return intoList(field, raw, parseHost)
	case *[]Key:
		return intoList(field, raw, parseKey)
	case *Names:
		return intoList((*[]string)(field), raw, parseName)
	case *Waits:
		return intoList((*[]time.Duration)(field), raw, parseWait)
	case *[]Provider:
		return intoList(field, whole(raw), parseSection[Provider])
	case *[]Model:
		return intoList(field, whole(raw), parseSection[Model])
	case **Price:
		return intoPrice(field, raw)
	default:
		return k.assignTools(raw)
	}
	return nil
}

// assignTools is assign for types used only by tools.
func (k setting) assignTools(raw any) error {
	switch field := k.field.Addr().Interface().(type) {
	case *[]HTTPTool:
		return intoList(field, whole(raw), parseSection[HTTPTool])
	case *[]MCPServer:
		return intoList(field, whole(raw), parseSection[MCPServer])
	case *[]ToolSecret:
		return intoList(field, whole(raw), parseSection[ToolSecret])
	case *Headers:
		return intoHeaders(field, raw)
	case *Object:
		values, ok := raw.(map[string]any)
		if !ok && raw != "" {
			return errors.New("must be a map, such as {type: object, properties: {...}}")
		}
		if _, err := json.Marshal(values); err != nil {
			return errors.New("must be valid as JSON: text keys and finite numbers")
		}
		*field = values
	}
	return nil
}

func intoHeaders(field *Headers, raw any) error {
	values, ok := raw.(map[string]any)
	if !ok && raw != "" {
		return errors.New("must be a map, such as {Authorization: \"Bearer {{secret:NAME}}\"}")
	}
	*field = nil
	for name, value := range values {
		if *field == nil {
			*field = Headers{}
		}
		(*field)[name] = fmt.Sprint(value)
	}
	return nil
}

func parseName(raw any) (string, error) { return strings.TrimSpace(fmt.Sprint(raw)), nil }

// whole decodes a list given as JSON in a variable. Other values are returned unchanged.
func whole(raw any) any {
	var list []any
	text, ok := raw.(string)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // keeps the digits of large numbers
	if ok && decoder.Decode(&list) == nil && !decoder.More() {
		return list
	}
	return raw
}

// parseSection parses a map of settings in a list.
func parseSection[T any](raw any) (T, error) {
	var section T
	values, ok := raw.(map[string]any)
	if !ok {
		return section, errors.New("each entry of the list must be a map of settings, such as name: x")
	}
	var mistakes []error
	known := map[string]bool{}
	var names []string
	for _, k := range fields("", reflect.ValueOf(&section).Elem()) {
		known[k.key], names = true, append(names, k.key)
		value, given := values[k.key]
		if !given || value == nil {
			value = k.fallback
		}
		err := k.assign(value)
		if err == nil {
			err = k.check()
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", k.key, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			mistakes = append(mistakes, errors.New(schema.Unknown("setting", name, names)))
		}
	}
	return section, errors.Join(mistakes...)
}

// intoPrice parses a map of prices per million tokens. Cached tokens cost as much as other input tokens unless they
// have a price.
func intoPrice(field **Price, raw any) error {
	values, ok := raw.(map[string]any)
	if !ok {
		if raw == "" {
			return nil
		}
		return errors.New("must be a map, such as {input: 0.25, cached: 0.025, output: 2}")
	}
	price := &Price{Cached: -1}
	parts := map[string]*float64{"input": &price.Input, "cached": &price.Cached, "output": &price.Output}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		part, known := parts[name]
		if !known {
			return errors.New(schema.Unknown("price", name, slices.Sorted(maps.Keys(parts))))
		}
		number, err := strconv.ParseFloat(fmt.Sprint(values[name]), 64)
		if err != nil || !(number >= 0 && number <= 1e6) { // rejects NaN
			return fmt.Errorf("%s: %v is not a price per million tokens", name, values[name])
		}
		*part = number
	}
	if values["input"] == nil || values["output"] == nil {
		return errors.New("needs input and output, such as {input: 0.25, cached: 0.025, output: 2}; 0 is free")
	}
	if price.Cached < 0 {
		price.Cached = price.Input
	}
	*field = price
	return nil
}

func into[T any](field *T, text string, parse func(string) (T, error)) (err error) {
	*field, err = parse(text)
	return err
}

// intoList parses a list from a file, or comma-separated text.
func intoList[T any](field *[]T, raw any, parse func(any) (T, error)) error {
	parts, isList := raw.([]any)
	if !isList {
		for part := range strings.SplitSeq(fmt.Sprint(raw), ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
	}
	var mistakes []error
	*field = nil
	for i, part := range parts {
		parsed, err := parse(part)
		if err != nil {
			if len(parts) > 1 {
				err = fmt.Errorf("entry %d: %w", i+1, err)
			}
			mistakes = append(mistakes, err)
			continue
		}
		*field = append(*field, parsed)
	}
	return errors.Join(mistakes...)
}

// check checks a value against the limits in the field's tags.
func (k setting) check() error {
	if len(k.oneOf) > 0 && !slices.Contains(k.oneOf, k.field.String()) {
		return fmt.Errorf("%q is not one of %s", k.field.String(), strings.Join(k.oneOf, ", "))
	}
	if k.least == "" {
		return nil
	}
	least := setting{field: reflect.New(k.field.Type()).Elem()}
	if err := least.assign(k.least); err != nil {
		return err
	}
	if k.field.Int() < least.field.Int() {
		return fmt.Errorf("%v is too small, the minimum is %s", k.field.Interface(), k.least)
	}
	return nil
}
