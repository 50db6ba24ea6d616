// Package notify holds the activities that make and deliver the messages about tasks: webhooks and mails.
package notify
