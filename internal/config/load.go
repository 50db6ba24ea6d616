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

// Source is where the settings come from. The zero value gives the defaults.
type Source struct {
	Args  []string       // the command line without the program's name
	Env   []string       // as os.Environ gives it; an empty variable is as none
	Dir   string         // where relative paths begin and longhaul.yaml is looked for; "" means the working directory
	Flags *pflag.FlagSet // the program's own flags, to which ours are added; nil means none
}

// Load reads all sources and reports all mistakes together. It gives pflag.ErrHelp when help was
// asked for, and printed.
func Load(src Source) (Config, error) {
	var cfg Config
	l := loader{src: src, env: lookup(src.Env), flags: src.Flags, values: viper.New(), knobs: knobs(&cfg)}
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
		return Config{}, fmt.Errorf("%d mistake(s) in the configuration:\n%w", n, errors.Join(l.mistakes...))
	}
	return cfg, nil
}

// knob is one setting, read off its field.
type knob struct {
	key      string // in the file: llm.base_url
	help     string
	fallback string // the default, as it would be written
	least    string // "" means no bound
	oneOf    []string
	field    reflect.Value
}

func (k knob) env() string  { return "LONGHAUL_" + strings.ToUpper(strings.ReplaceAll(k.key, ".", "_")) }
func (k knob) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.key) }

// secret reports whether the setting must not be a flag, which every user of a machine can read.
func (k knob) secret() bool {
	switch k.field.Interface().(type) {
	case Secret, []Key, []Provider, []HTTPTool, []MCPServer, []ToolSecret:
		return true
	}
	return false
}

// knobs lists the settings of cfg in the order of its fields.
func knobs(cfg *Config) []knob { return fields("", reflect.ValueOf(cfg).Elem()) }

func fields(prefix string, v reflect.Value) []knob {
	var all []knob
	for i := range v.NumField() {
		tag, field := v.Type().Field(i).Tag, v.Field(i)
		key := prefix + tag.Get("knob")
		if _, isKnob := tag.Lookup("help"); !isKnob {
			all = append(all, fields(key+".", field)...)
			continue
		}
		all = append(all, knob{
			key: key, help: tag.Get("help"), fallback: tag.Get("default"),
			least: tag.Get("min"), oneOf: strings.Fields(tag.Get("oneof")), field: field,
		})
	}
	return all
}

// loader carries one Load from step to step.
type loader struct {
	src      Source
	env      map[string]string
	flags    *pflag.FlagSet
	values   *viper.Viper
	knobs    []knob
	mistakes []error
}

func (l *loader) mistake(format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf(format, args...))
}

func (l *loader) addFlags() {
	l.flags.String("config", "", "configuration file (default longhaul.yaml, if there is one)")
	for _, k := range l.knobs {
		if !k.secret() {
			l.flags.String(k.flag(), k.fallback, k.help)
		}
	}
}

// readFile reads the file that was named, which must be there, or longhaul.yaml, which need not.
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

// keepCase reads the tools once more: viper makes all keys lower case, and those of a tool's parameters are not ours.
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

// refuseUnknown runs before anything else is put into values, so all keys there are the file's.
func (l *loader) refuseUnknown(file string) {
	known := make([]string, 0, len(l.knobs))
	for _, k := range l.knobs {
		known = append(known, k.key)
	}
	for _, key := range l.values.AllKeys() {
		if !slices.Contains(known, key) {
			l.mistake("%s: %s", file, schema.Unknown("setting", key, known))
		}
	}
}

// ours are the LONGHAUL_* variables that are no settings.
var ours = []string{"LONGHAUL_CONFIG", "LONGHAUL_API", "LONGHAUL_KEY"}

// refuseMisspelt reports variables that look like settings and are none: a misspelt one would
// otherwise have no effect, in silence.
func (l *loader) refuseMisspelt() {
	known := slices.Clone(ours)
	for _, k := range l.knobs {
		known = append(known, k.env())
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if strings.HasPrefix(name, "LONGHAUL_") && !slices.Contains(known, name) {
			l.mistake("%s", schema.Unknown("variable", name, known))
		}
	}
}

// fill gives every field its value from the strongest source that has one.
func (l *loader) fill() {
	for _, k := range l.knobs {
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
