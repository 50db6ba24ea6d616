package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"longhaul/internal/schema"
)

// Source is the source of the settings. The zero value gives the defaults.
type Source struct {
	Args  []string       // command line without the program name
	Env   []string       // as from os.Environ; empty variables are ignored
	Dir   string         // base of relative paths and folder of longhaul.yaml; "" means the working directory
	Flags *pflag.FlagSet // the program's own flags, which Load extends; nil means none
}

// Load reads all sources and reports all errors together. It returns pflag.ErrHelp after printing the help.
func Load(src Source) (Config, error) {
	var cfg Config
	l := loader{src: src, env: lookup(src.Env), flags: src.Flags, values: viper.New(), settings: settings(&cfg)}
	if l.flags == nil {
		l.flags = pflag.NewFlagSet("longhaul", pflag.ContinueOnError)
	}
	l.addFlags()
	if err := l.flags.Parse(src.Args); err != nil {
		return Config{}, err
	}
	if l.flags.NArg() > 0 {
		l.mistake("unexpected argument %q", l.flags.Arg(0))
	}
	l.refuseMisspelt()
	l.readFile()
	l.fill()
	cfg.complete(l.env)
	l.mistakes = append(l.mistakes, cfg.mistakes()...)
	if err := cfg.resolve(src.Dir); err != nil {
		l.mistakes = append(l.mistakes, err)
	}
	if n := len(l.mistakes); n > 0 {
		return Config{}, fmt.Errorf("%d error(s) in the configuration:\n%w", n, errors.Join(l.mistakes...))
	}
	return cfg, nil
}

// setting is one setting, derived from a field of Config.
type setting struct {
	key      string // key in the file, such as llm.base_url
	help     string
	fallback string // default, in its text form
	least    string // minimum, in its text form; "" means none
	oneOf    []string
	field    reflect.Value
}

func (k setting) env() string {
	return "LONGHAUL_" + strings.ToUpper(strings.ReplaceAll(k.key, ".", "_"))
}
func (k setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.key) }

// secret reports whether the setting must not be a flag: other users of the machine can read flags.
func (k setting) secret() bool {
	switch k.field.Interface().(type) {
	case Secret, []Key, []Provider, []HTTPTool, []MCPServer, []ToolSecret:
		return true
	}
	return false
}

// settings returns the settings of cfg in the order of the fields.
func settings(cfg *Config) []setting { return fields("", reflect.ValueOf(cfg).Elem()) }

func fields(prefix string, v reflect.Value) []setting {
	var all []setting
	for i := range v.NumField() {
		tag, field := v.Type().Field(i).Tag, v.Field(i)
		key := prefix + tag.Get("key")
		if _, isSetting := tag.Lookup("help"); !isSetting {
			all = append(all, fields(key+".", field)...)
			continue
		}
		all = append(all, setting{
			key: key, help: tag.Get("help"), fallback: tag.Get("default"),
			least: tag.Get("min"), oneOf: strings.Fields(tag.Get("oneof")), field: field,
		})
	}
	return all
}

// loader is the state of a Load.
type loader struct {
	src      Source
	env      map[string]string
	flags    *pflag.FlagSet
	values   *viper.Viper
	settings []setting
	mistakes []error
}

func (l *loader) mistake(format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf(format, args...))
}

func (l *loader) addFlags() {
	l.flags.String("config", "", "configuration file (default longhaul.yaml, if it exists)")
	for _, k := range l.settings {
		if !k.secret() {
			l.flags.String(k.flag(), k.fallback, k.help)
		}
	}
}

// readFile reads the given file, which must exist, or else longhaul.yaml, which may be missing.
func (l *loader) readFile() {
	path, _ := l.flags.GetString("config")
	if path == "" {
		path = l.env["LONGHAUL_CONFIG"]
	}
	named := path != ""
	if !named {
		path = "longhaul.yaml"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.src.Dir, path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !named {
		return
	}
	l.values.SetConfigFile(path)
	if err := l.values.ReadInConfig(); err != nil {
		l.mistake("read the configuration file: %w", err)
		return
	}
	l.refuseUnknown(filepath.Base(path))
	l.keepCase(path)
}

// keepCase reads the HTTP tools again: viper lower-cases all keys, but the names of parameters must keep their case.
func (l *loader) keepCase(path string) {
	var file struct {
		Tools struct {
			HTTP any `yaml:"http"`
		} `yaml:"tools"`
	}
	text, err := os.ReadFile(path)
	if err == nil && yaml.Unmarshal(text, &file) == nil && file.Tools.HTTP != nil {
		l.values.Set("tools.http", file.Tools.HTTP)
	}
}

// refuseUnknown reports unknown keys of the file. It must run before values receives other keys.
func (l *loader) refuseUnknown(file string) {
	known := make([]string, 0, len(l.settings))
	for _, k := range l.settings {
		known = append(known, k.key)
	}
	for _, key := range l.values.AllKeys() {
		if !slices.Contains(known, key) {
			l.mistake("%s: %s", file, schema.Unknown("setting", key, known))
		}
	}
}

// otherVariables are the LONGHAUL_* variables that are not settings.
var otherVariables = []string{"LONGHAUL_CONFIG", "LONGHAUL_API", "LONGHAUL_KEY"}

// refuseMisspelt reports unknown LONGHAUL_* variables, because a misspelt variable would be ignored silently.
func (l *loader) refuseMisspelt() {
	known := slices.Clone(otherVariables)
	for _, k := range l.settings {
		known = append(known, k.env())
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if strings.HasPrefix(name, "LONGHAUL_") && !slices.Contains(known, name) {
			l.mistake("%s", schema.Unknown("variable", name, known))
		}
	}
}

// fill sets every field from the source with the highest precedence.
func (l *loader) fill() {
	for _, k := range l.settings {
		raw, origin := any(k.fallback), k.key
		if l.values.IsSet(k.key) {
			raw = l.values.Get(k.key)
		}
		if text := l.env[k.env()]; text != "" {
			raw, origin = text, k.env()
		}
		if f := l.flags.Lookup(k.flag()); f != nil && f.Changed {
			raw, origin = f.Value.String(), "--"+f.Name
		}
		err := k.assign(raw)
		if err == nil {
			err = k.check()
		}
		if err != nil {
			l.mistake("%s: %w", origin, err)
		}
	}
}

func lookup(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	return env
}
