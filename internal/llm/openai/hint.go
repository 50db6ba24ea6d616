package openai

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/llm"
)

// maxHint is the longest wait that is believed.
const maxHint = 7 * 24 * time.Hour

var (
	inWords  = regexp.MustCompile(`(?i)\b(?:try|retry)(?:\s+again)?\s+(?:in|after)\s+((?:[0-9]+(?:\.[0-9]+)?\s*[a-z]*\s*)+)`)
	inHan    = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)\s*(秒|分钟|小时)\s*(?:之?后|内)`)
	inDate   = regexp.MustCompile(`(?i)(?:reset|again|retry|after|将在|将于|至|到).{0,20}?(20[0-9]{2}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})`)
	quantity = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)`)
)

// units are what follows a number in a hint; a number alone is seconds.
var units = map[string]time.Duration{
	"": time.Second, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second, "秒": time.Second,
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute, "分钟": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour, "小时": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// hint finds how long the provider asks to wait: by its headers, or else by its message, whose times
// are those of a zone (nil is UTC). 0 means that it does not say.
func hint(header http.Header, message string, zone *time.Location) time.Duration {
	for _, wait := range []time.Duration{millis(header), retryAfter(header), spoken(message), dated(header, message, zone), reset(header)} {
		if wait > 0 {
			return min(wait, maxHint)
		}
	}
	return 0
}

func millis(header http.Header) time.Duration {
	return times(header.Get("Retry-After-Ms"), time.Millisecond)
}

// retryAfter reads seconds, or a date. A date is measured against the provider's own clock, if it
// tells the time.
func retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if wait := times(value, time.Second); wait > 0 {
		return wait
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return until.Sub(clock(header))
}

// limits reads what a key may use in a minute, as headers tell it for a time.
func limits(header http.Header, per time.Duration) llm.Limits {
	if per <= 0 {
		return llm.Limits{}
	}
	read := func(name string) float64 {
		n, err := strconv.ParseFloat(header.Get("X-Ratelimit-Limit-"+name), 64)
		if err != nil || math.IsInf(n, 0) || !(n > 0) { // -1 and 0 stand for what is not known
			return 0
		}
		return n * float64(time.Minute) / float64(per)
	}
	return llm.Limits{Requests: read("Requests"), Tokens: read("Tokens")}
}

// clock is what time it is for the provider.
func clock(header http.Header) time.Time {
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Now()
	}
	return now
}

// dated reads a moment in a sentence, such as "your limit will reset at 2026-11-30 08:00:00".
func dated(header http.Header, message string, zone *time.Location) time.Duration {
	found := inDate.FindStringSubmatch(message)
	if found == nil {
		return 0
	}
	until, err := time.ParseInLocation(time.DateTime, found[1]+" "+found[2], or(zone, time.UTC))
	if err != nil {
		return 0
	}
	return until.Sub(clock(header))
}

// spoken reads a wait in a sentence, such as "try again in 1m12.5s".
func spoken(message string) time.Duration {
	if found := inWords.FindStringSubmatch(message); found != nil {
		return duration(found[1])
	}
	if found := inHan.FindStringSubmatch(message); found != nil {
		return times(found[1], units[found[2]])
	}
	return 0
}

// reset takes the longest reset time among the limits of which nothing remains. Some providers give
// seconds, and -1 or 0 for what they do not know.
func reset(header http.Header) time.Duration {
	var wait time.Duration
	for _, of := range []string{"-Requests", "-Tokens", ""} {
		if header.Get("X-Ratelimit-Remaining"+of) == "0" {
			until := header.Get("X-Ratelimit-Reset" + of)
			wait = max(wait, duration(until), moment(header, until))
		}
	}
	return wait
}

// moment reads a point in time, in seconds or milliseconds since 1970.
func moment(header http.Header, value string) time.Duration {
	const year2001, year2286 = 1_000_000_000, 10_000_000_000
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil || n < year2001:
		return 0
	case n < year2286:
		n *= 1000
	}
	return time.UnixMilli(n).Sub(clock(header))
}

// duration adds up quantities such as 1m12.5s until one has a unit that is none. A number over a
// year of seconds is a point in time, not a wait.
func duration(text string) time.Duration {
	var sum time.Duration
	for _, q := range quantity.FindAllStringSubmatch(strings.ToLower(text), -1) {
		unit, ok := units[q[2]]
		if !ok {
			if sum == 0 {
				sum = times(q[1], time.Second)
			}
			break
		}
		sum += times(q[1], unit)
	}
	if sum > 365*24*time.Hour {
		return 0
	}
	return sum
}

// times reads a number of units; what is no positive number is 0.
func times(number string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(math.MaxInt64/4)))
}
