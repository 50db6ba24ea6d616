// Package config defines every setting of longhaul once. A setting is a field of Config; its key in the
// file, its environment variable, its flag, its default and its help text follow from the field.
//
// Flags override LONGHAUL_* variables, variables override the file, and the file overrides the defaults.
// TEMPORAL_* variables belong to the Temporal SDK (see internal/cluster).
//
// This package opens, dials and logs nothing. Packages below internal/app do not import it; they receive
// the values they need.
package config
