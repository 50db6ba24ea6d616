package rows_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"longhaul/internal/rows"
)

var results = []rows.Result{
	{Index: 0, ID: "a", Values: fields{"text": "one, \"two\"\r\nthree <b>\x00", "n": json.Number("1.50")}},
	{Index: 1, Values: fields{"text": "", "labels": []string{"x", "<y>"}}},
	{Index: 2, ID: "=1+1"},
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := rows.NewJSONLines(&out)
	for _, r := range results {
		require.NoError(t, w.Row(r))
	}
	require.NoError(t, w.Row(rows.Result{Index: 3, Vector: []float32{0.1, -2}}))
	require.ErrorContains(t, w.Row(rows.Result{Index: 4, Values: fields{"id": 1}}), `the column name "id" is reserved`)
	require.Error(t, w.Row(rows.Result{Index: 4, Vector: []float32{float32(math.NaN())}}))
	require.NoError(t, w.Close())
	require.Equal(t, `{"index":0,"id":"a","n":1.50,"text":"one, \"two\"\r\nthree <b>\u0000"}
{"index":1,"labels":["x","<y>"],"text":""}
{"index":2,"id":"=1+1"}
{"index":3,"vector":[0.1,-2]}
`, out.String())
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := rows.NewTable(&out, []string{"text", "n"}, []string{"n", "labels"})
	for _, r := range results {
		require.NoError(t, w.Row(r))
	}
	require.ErrorContains(t, w.Row(rows.Result{Values: fields{"x": 1}}), `the table has no column "x"`)
	require.ErrorContains(t, w.Row(rows.Result{Vector: []float32{1}}), "CSV cannot hold a vector")
	require.NoError(t, w.Close())
	require.Equal(t, "index,id,text,n,labels\r\n0,a,\"one, \"\"two\"\"\r\nthree <b>\x00\",1.50,\r\n1,,,,\"[\"\"x\"\",\"\"<y>\"\"]\"\r\n2,'=1+1,,,\r\n", out.String())
	all, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.ErrorContains(t, rows.NewTable(io.Discard, []string{"id"}).Close(), `the column name "id" is reserved`)
}

func TestTable_formulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=HYPERLINK(A1)": "'=HYPERLINK(A1)", "+1+cmd": "'+1+cmd", "-x": "'-x", "@SUM(1)": "'@SUM(1)", "\tx": "\"'\tx\"", "＝1": "'＝1", "=": "'=",
		"-5": "-5", "+4.5e3": "+4.5e3", "-Inf": "'-Inf", "-0x1p3": "'-0x1p3", "a=b": "a=b", "'x": "'x", "": "", " =1": "\" =1\"",
	} {
		var out bytes.Buffer
		w := rows.NewTable(&out, []string{"v"})
		require.NoError(t, w.Row(rows.Result{Values: fields{"v": text}}))
		require.NoError(t, w.Close())
		require.Equal(t, "index,id,v\r\n0,,"+want+"\r\n", out.String())
	}
}

// TestTable_readBack reads back what Table writes.
func TestTable_readBack(t *testing.T) {
	t.Parallel()
	values := fields{"a": "x;\ty\r\n\"z\"", "b": " padded ", "c": "编\x00😀"}
	var out bytes.Buffer
	w := rows.NewTable(&out, []string{"a", "b", "c"})
	require.NoError(t, w.Row(rows.Result{ID: "7", Values: values}))
	require.NoError(t, w.Close())
	got, err := read(t, out.String(), rows.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, []rows.Row{good(0, 2, "7", fields{"index": "0", "id": "7", "a": values["a"], "b": values["b"], "c": values["c"]})}, got)
}

func vectors() []rows.Result {
	return []rows.Result{
		{Index: 0, Values: fields{"error": "the row is empty"}},
		{Index: 1, ID: "b", Vector: []float32{1, 0.5, -3}},
		{Index: 2, Values: fields{"error": json.RawMessage(`{"code":"x"}`)}},
		{Index: 3, ID: "d", Vector: []float32{0, 1e-30, 7}},
	}
}

func TestParquet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := rows.NewParquet(&out, []string{"zebra", "error"}, true)
	for _, r := range vectors() {
		require.NoError(t, w.Row(r))
	}
	require.NoError(t, w.Close())

	type line struct {
		Error  *string   `parquet:"error,optional"`
		ID     *string   `parquet:"id,optional"`
		Index  int64     `parquet:"index"`
		Vector []float32 `parquet:"vector,optional,list"`
		Zebra  *string   `parquet:"zebra,optional"`
	}
	got, err := parquet.Read[line](bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	text := func(s string) *string { return &s }
	require.Equal(t, []line{
		{Index: 0, Error: text("the row is empty")},
		{Index: 1, ID: text("b"), Vector: []float32{1, 0.5, -3}},
		{Index: 2, Error: text(`{"code":"x"}`)},
		{Index: 3, ID: text("d"), Vector: []float32{0, 1e-30, 7}},
	}, got)
}

func TestParquet_refused(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		columns []string
		result  rows.Result
	}{
		`the column "index" appears twice or is reserved`: {columns: []string{"index"}},
		`the column "a" appears twice or is reserved`:     {columns: []string{"a", "a"}},
		`the file has no column "b"`:                      {[]string{"a"}, rows.Result{Values: fields{"b": 1}}},
		"the file has no column for the vector":           {[]string{"a"}, rows.Result{Vector: []float32{1}}},
	} {
		w := rows.NewParquet(io.Discard, tt.columns, false)
		require.ErrorContains(t, w.Row(tt.result), want)
		require.ErrorContains(t, w.Close(), want)
	}
}

// TestParquet_groups: a large file has many row groups, and only one is in memory at a time.
func TestParquet_groups(t *testing.T) { // not parallel: it measures the heap of the process
	const n, width = 24_000 / slowdown, 1_000 // 96 MB, six row groups
	file := &counter{}
	vector := make([]float32, width)
	peak := peakHeap(func() {
		w := rows.NewParquet(file, []string{"text"}, true)
		for i := range n {
			vector[i%width] = float32(i)
			require.NoError(t, w.Row(rows.Result{Index: i, Values: fields{"text": strings.Repeat("x", i%100)}, Vector: vector}))
		}
		require.NoError(t, w.Close())
	})
	t.Logf("%d MB, peak heap %.1f MiB", file.n/1_000_000, float64(peak)/(1<<20))
	require.Greater(t, file.n, 4*n*width)
	require.Less(t, peak, uint64(96<<20))
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

func TestMatrix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := rows.NewMatrix(&out, 4)
	for _, r := range vectors() {
		require.NoError(t, w.Row(r))
	}
	require.NoError(t, w.Close())
	data := out.Bytes()
	require.Equal(t, "\x93NUMPY\x01\x00", string(data[:8]))
	length := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	require.Zero(t, length%64, "the data must begin at a multiple of 64")
	require.Regexp(t, regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \(4, 3\), \} *\n$`), string(data[10:length]))
	numbers := make([]float32, 12)
	require.NoError(t, binary.Read(bytes.NewReader(data[length:]), binary.LittleEndian, numbers))
	require.Len(t, data, length+4*12)
	for _, i := range []int{0, 1, 2, 6, 7, 8} {
		require.True(t, math.IsNaN(float64(numbers[i])))
	}
	require.Equal(t, []float32{1, 0.5, -3}, numbers[3:6])
	require.Equal(t, []float32{0, 1e-30, 7}, numbers[9:])
}

func TestMatrix_refused(t *testing.T) {
	t.Parallel()
	w := rows.NewMatrix(io.Discard, 3)
	require.NoError(t, w.Row(rows.Result{Index: 0, Vector: []float32{1, 2}}))
	require.ErrorContains(t, w.Row(rows.Result{Index: 2}), "row 2 written as row 1")
	require.ErrorContains(t, w.Row(rows.Result{Index: 1, Vector: []float32{1}}), "the vector of row 1 has 1 numbers, earlier vectors have 2")
	require.ErrorContains(t, w.Close(), "the matrix has 1 of 3 rows")

	var out bytes.Buffer
	w = rows.NewMatrix(&out, 1)
	require.NoError(t, w.Row(rows.Result{Index: 0}))
	require.NoError(t, w.Close())
	require.Contains(t, out.String(), "(1, 0)")
}

// TestPython reads the files with numpy and pyarrow. It needs python3 with both.
func TestPython(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import numpy, pyarrow.parquet").Run(); err != nil {
		t.Skip("python3 with numpy and pyarrow is not installed")
	}
	folder := t.TempDir()
	write := func(name string, open func(io.Writer) rows.Output) {
		var out bytes.Buffer
		w := open(&out)
		for _, r := range vectors() {
			require.NoError(t, w.Row(r))
		}
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), out.Bytes(), 0o600))
	}
	write("v.npy", func(w io.Writer) rows.Output { return rows.NewMatrix(w, 4) })
	write("v.parquet", func(w io.Writer) rows.Output { return rows.NewParquet(w, []string{"error"}, true) })
	const script = `
import sys, numpy, pyarrow.parquet
m = numpy.load(sys.argv[1] + "/v.npy")
t = pyarrow.parquet.read_table(sys.argv[1] + "/v.parquet").to_pydict()
print(m.dtype, m.shape, m[1].tolist(), t["index"], t["id"], t["vector"][0], t["vector"][1])`
	out, err := exec.CommandContext(t.Context(), "python3", "-c", script, folder).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "float32 (4, 3) [1.0, 0.5, -3.0] [0, 1, 2, 3] [None, 'b', None, 'd'] None [1.0, 0.5, -3.0]\n", string(out))
}
