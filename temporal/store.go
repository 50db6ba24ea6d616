package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	schema "go.temporal.io/server/schema/sqlite"
)

const (
	mainFile       = "temporal.db"
	visibilityFile = "visibility.db" // a separate file, so that its writes do not wait for the main database
	versionFile    = "VERSION"
	lockFile       = "LOCK"
)

// openFolder locks dir for this process until the returned lock is closed, and creates missing databases. The server
// neither migrates nor checks a SQLite file, so databases of another version are refused before they are opened.
func openFolder(dir string) (lock io.Closer, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unusable(dir, err)
	}
	held, err := takeLock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	if err := prepare(dir); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

func prepare(dir string) error {
	if err := checkVersion(dir, headers.ServerVersion); err != nil {
		return err
	}
	for _, file := range []string{mainFile, visibilityFile} {
		if err := createDatabase(dir, file); err != nil {
			return unusable(dir, err)
		}
	}
	return nil
}

// takeLock locks the file at path and writes the process id into it. The kernel releases the lock when the process
// dies.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(filepath.Dir(path), err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(heldError(path), f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(unusable(filepath.Dir(path), err), f.Close())
	}
	return f, nil
}

// unusable returns the error for a folder that cannot be written.
func unusable(dir string, err error) error {
	return fmt.Errorf("the data folder %s cannot be written: %w; make it writable, free disk space, or choose another folder with --data", dir, err)
}

func heldError(path string) error {
	pid, _ := os.ReadFile(path)
	return fmt.Errorf("the data folder %s is in use by process %s: stop that process, or choose another folder with --data",
		filepath.Dir(path), strings.TrimSpace(string(pid)))
}

// checkVersion compares the version of the data in dir with the server's version. In an empty folder it writes the
// version before a database is created, so that no database is without a version.
func checkVersion(dir, current string) error {
	path := filepath.Join(dir, versionFile)
	text, err := os.ReadFile(path)
	written := strings.TrimSpace(string(text))
	switch {
	case err == nil && written == current:
		return nil
	case err == nil:
		return versionError(dir, "Temporal "+written, current)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, mainFile)); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(versionError(dir, "an unknown Temporal version", current), err)
	}
	return writeWhole(path, current+"\n")
}

func versionError(dir, written, current string) error {
	return fmt.Errorf("the database in %s was written by %s, and Temporal %s cannot read it safely; nothing was changed. "+
		"Run the longhaul release that wrote it until its tasks are done, or move the folder away to start with an empty task list "+
		"(files and results stay in the bucket)", dir, written, current)
}

// createDatabase creates a database with schema unless the file exists. It renames a finished draft, so that a crash
// never leaves an incomplete schema.
func createDatabase(dir, file string) error {
	path := filepath.Join(dir, file)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	draft := file + ".new"
	if err := os.Remove(filepath.Join(dir, draft)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := schema.SetupSchema(&config.SQL{
		PluginName: sqlite.PluginName, DatabaseName: escaped(dir, draft),
		ConnectAttributes: map[string]string{"mode": "rwc", "synchronous": "0"},
	})
	if err == nil && file == visibilityFile {
		err = dropUnusedIndexes(escaped(dir, draft))
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return os.Rename(filepath.Join(dir, draft), path)
}

// unusedIndexes selects the indexes to drop. Visibility has 58 indexes, all written at the start and the end of a
// workflow; together they cost more than the rest of a workflow. Keyword indexes stay because the server chooses which
// of them a search attribute gets.
const unusedIndexes = `
	SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL
	AND name NOT LIKE 'by\_keyword\_%' ESCAPE '\' AND name NOT IN ('default_idx', 'by_workflow_id', 'by_workflow_type',
		'by_status', 'by_parent_workflow_id', 'by_root_workflow_id', 'by_temporal_scheduled_by_id', 'by_temporal_namespace_division')`

// dropUnusedIndexes drops indexes in the database at an escaped path. Queries without an index still work; they scan.
func dropUnusedIndexes(path string) (err error) {
	db, err := sql.Open(sqlite.PluginName, "file:"+path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	names, err := texts(db, unusedIndexes)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := db.Exec(`DROP INDEX ` + name); err != nil {
			return err
		}
	}
	return nil
}

func texts(db *sql.DB, query string) ([]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// writeWhole writes a file atomically.
func writeWhole(path, text string) error {
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, path)
}
