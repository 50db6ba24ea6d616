// Package notify holds the workflows that send webhooks and mails. They outlive the task, so a dead receiver delays no
// task.
package notify
