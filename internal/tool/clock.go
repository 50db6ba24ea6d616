package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for machines that have no time zones of their own
)

// tellTime answers with the present time.
func (k *Kit) tellTime(call Call) (Result, error) {
	var args TimeArguments
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return Result{}, failed("The arguments of time cannot be read.")
	}
	zone, err := time.LoadLocation(args.Zone)
	if err != nil || strings.EqualFold(args.Zone, "local") {
		return Result{}, failed("There is no time zone %q; use an IANA name such as Europe/Berlin or Asia/Shanghai, or leave it out for UTC.", args.Zone)
	}
	now := k.options.Now().In(zone)
	_, week := now.ISOWeek()
	return Result{Text: fmt.Sprintf("%s, %s (%s), week %d", now.Format(time.RFC3339), now.Weekday(), zone, week)}, nil
}
