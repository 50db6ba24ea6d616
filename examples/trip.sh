#!/usr/bin/env bash
# An agent plans a trip, asks before it books, and writes the report. The booking desk is examples/trip, which this script
# starts. It needs a longhaul that may call it:
#   LONGHAUL_TOOLS_ALLOW_PRIVATE=127.0.0.1:8090 make run
set -euo pipefail
cd "$(dirname "$0")/.."

go build -o bin/longhaul ./starter
go build -o bin/trip ./examples/trip
bin/trip --listen 127.0.0.1:8090 &
trap 'kill $!' EXIT

id=$(bin/longhaul submit agent --input @examples/trip.json --label example=trip)
echo "task $id"
until bin/longhaul get "$id" > bin/trip.txt && grep -q '^asks' bin/trip.txt; do
  grep -qE 'succeeded|failed|cancelled' bin/trip.txt && break
  sleep 1
done
cat bin/trip.txt
bin/longhaul approve "$id" # this is where a person looks at the call, and may deny or change it
bin/longhaul watch "$id" --output bin/trip-result.json
curl -s "http://127.0.0.1:8090/bookings"
