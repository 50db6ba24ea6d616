package rows

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"longhaul/internal/task"
)

// Matrix writes vectors as an NPY file, version 1.0: little-endian float32, one matrix row per input row, so that
// matrix row i is the vector of row index i. A row without a vector is all NaN. Values are not written.
type Matrix struct {
	out     *bufio.Writer
	rows    int // rows of the matrix
	written int
	width   int // length of the vectors; 0 until the first vector
	line    []byte
}

// NewMatrix returns a writer of a matrix with the given number of rows. Its width is the length of the first vector.
func NewMatrix(w io.Writer, rows int) *Matrix {
	return &Matrix{out: bufio.NewWriterSize(w, 64<<10), rows: rows}
}

// Row implements Output.
func (m *Matrix) Row(r Result) error {
	switch {
	case r.Index != m.written || r.Index >= m.rows:
		return fmt.Errorf("row %d written as row %d of a matrix of %d rows", r.Index, m.written, m.rows)
	case m.width == 0 && len(r.Vector) > 0:
		if err := m.begin(len(r.Vector)); err != nil {
			return err
		}
	case r.Vector != nil && len(r.Vector) != m.width:
		return task.Errorf(task.BadResponse, "the vector of row %d has %d numbers, earlier vectors have %d; an NPY matrix needs equal lengths. Replay the task with another output; paid answers are reused", r.Index, len(r.Vector), m.width)
	}
	m.written++
	if m.width == 0 {
		return nil
	}
	return m.vector(r.Vector)
}

// begin writes the header and the NaN rows before the first vector.
func (m *Matrix) begin(width int) error {
	m.width = width
	if err := m.header(); err != nil {
		return err
	}
	for range m.written {
		if err := m.vector(nil); err != nil {
			return err
		}
	}
	return nil
}

func (m *Matrix) header() error {
	const magic, align = "\x93NUMPY\x01\x00", 64
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", m.rows, m.width)
	length := len(magic) + 2 + len(text) + 1
	text += strings.Repeat(" ", (align-length%align)%align) + "\n"
	_, err := m.out.WriteString(magic + string(binary.LittleEndian.AppendUint16(nil, uint16(len(text)))) + text)
	return err
}

func (m *Matrix) vector(v []float32) error {
	m.line = m.line[:0]
	for i := range m.width {
		number := float32(math.NaN())
		if v != nil {
			number = v[i]
		}
		m.line = binary.LittleEndian.AppendUint32(m.line, math.Float32bits(number))
	}
	_, err := m.out.Write(m.line)
	return err
}

// Close implements Output. It fails if rows are missing, because the header declares them.
func (m *Matrix) Close() error {
	if m.written != m.rows {
		return fmt.Errorf("the matrix has %d of %d rows", m.written, m.rows)
	}
	if m.width == 0 {
		if err := m.header(); err != nil {
			return err
		}
	}
	return m.out.Flush()
}
