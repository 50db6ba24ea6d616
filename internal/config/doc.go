// Package config is every setting of longhaul, once. A setting is a field of Config; its key in the
// file, its environment variable, its flag, its default and its help all follow from the field.
//
// Settings come from flags, then LONGHAUL_* variables, then the file, then the defaults. TEMPORAL_*
// is not read here: that is the Temporal SDK's own (see internal/cluster).
//
// Nothing is opened, dialled or logged here, and no room below internal/app imports this one: each
// is given the values it needs.
package config
