package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hibiken/asynq"
)

// kind is the type of all jobs.
const kind = "row"

// work makes the call of each job, width jobs at a time, and stores the answer as the result of the job.
func work(redis asynq.RedisClientOpt, provider string, width int) error {
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency: width, LogLevel: asynq.WarnLevel,
		TaskCheckInterval: 50 * time.Millisecond, // for an empty queue; the first job would wait a second by default
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = width, width
	c := &caller{url: provider + "/chat/completions", http: &http.Client{Transport: transport}}
	return server.Run(asynq.HandlerFunc(c.job))
}

// caller makes calls with no overhead: it encodes a struct, sends one request and decodes the events of the answer.
type caller struct {
	url  string
	http *http.Client
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (c *caller) job(ctx context.Context, t *asynq.Task) error {
	text, err := c.call(ctx, string(t.Payload()))
	if err != nil {
		return err
	}
	_, err = t.ResultWriter().Write([]byte(text))
	return err
}

func (c *caller) call(ctx context.Context, prompt string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "llmtest-1", "stream": true, "messages": []message{{"user", prompt}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	answer, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the provider said %s", answer.Status)
	}
	return read(bufio.NewScanner(answer.Body))
}

// read joins the text of a streamed answer.
func read(lines *bufio.Scanner) (string, error) {
	var text strings.Builder
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			return text.String(), nil
		}
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal(data, &event); err != nil {
			return "", err
		}
		for _, c := range event.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	return "", fmt.Errorf("the answer has no end: %w", lines.Err())
}
