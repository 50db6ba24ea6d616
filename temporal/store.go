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
	visibilityFile = "visibility.db" // a file of its own, so that its writes do not queue behind the others
	versionFile    = "VERSION"
	lockFile       = "LOCK"
)

// openFolder takes dir for this process until the lock it returns is closed, and gives it empty
// databases if it has none. The server neither migrates nor checks a SQLite file, so a file of
// another version is refused before it is opened.
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

// takeLock holds the file at path, and writes there who holds it. The kernel lets go of it when the
// process dies, however it dies.
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

// unusable says what to do about a folder that cannot be written.
func unusable(dir string, err error) error {
	return fmt.Errorf("the data folder %s cannot be written: %w; make it writable and make room, or choose another one with --data", dir, err)
}

func heldError(path string) error {
	pid, _ := os.ReadFile(path)
	return fmt.Errorf("the data folder %s is in use by process %s: stop that one first, or choose another folder with --data",
		filepath.Dir(path), strings.TrimSpace(string(pid)))
}

// checkVersion compares the version that wrote dir with ours. In a fresh folder it leaves ours,
// before the first database is made, so that a database is never without one.
func checkVersion(dir, ours string) error {
	path := filepath.Join(dir, versionFile)
	text, err := os.ReadFile(path)
	theirs := strings.TrimSpace(string(text))
	switch {
	case err == nil && theirs == ours:
		return nil
	case err == nil:
		return versionError(dir, "Temporal "+theirs, ours)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, mainFile)); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(versionError(dir, "an unknown Temporal", ours), err)
	}
	return writeWhole(path, ours+"\n")
}

func versionError(dir, theirs, ours string) error {
	return fmt.Errorf("the database in %s was written by %s, and this is Temporal %s, which cannot read it safely; nothing was touched. "+
		"Run the longhaul that wrote it until its tasks are done, or move the folder away to begin with an empty list of tasks "+
		"(files and results in the bucket stay)", dir, theirs, ours)
}

// createDatabase makes a file with the schema unless there is one. It is made under another name
// and renamed, so that a crash never leaves half a schema behind.
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

// unusedIndexes finds what to drop. Visibility has 58 indexes, every one written at the start and the
// end of a workflow, and together they cost more than all else that a workflow does. Those on keywords
// stay because the server picks which of them a search attribute gets.
const unusedIndexes = `
	SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL
	AND name NOT LIKE 'by\_keyword\_%' ESCAPE '\' AND name NOT IN ('default_idx', 'by_workflow_id', 'by_workflow_type',
		'by_status', 'by_parent_workflow_id', 'by_root_workflow_id', 'by_temporal_scheduled_by_id', 'by_temporal_namespace_division')`

// dropUnusedIndexes takes the file at an escaped path. A query that would have used one of them
// still works: it scans.
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
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// writeWhole writes a file that is either there with all of text, or not there.
func writeWhole(path, text string) error {
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, path)
}
