#!/usr/bin/env bash
# Summarises the three documents of this folder, an English PDF, a DOCX and a Chinese text, and a
# digest over them. It needs a longhaul that runs: make run, or LONGHAUL_API=http://host:port.
set -euo pipefail
cd "$(dirname "$0")/.."

go build -o bin/longhaul ./starter
bin/longhaul submit summary examples/documents/*.{pdf,docx,md} \
  --words 80 --digest --label example=summary --watch --output bin/summary.md
cat bin/summary.md
bin/longhaul list
