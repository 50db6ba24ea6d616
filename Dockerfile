# One image for every role; the command picks it: api (the default), worker, or longhaul, the client.
FROM golang:1.26.8-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./api ./worker \
 && CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/longhaul ./starter \
 && mkdir /out/data

FROM alpine:3.22.1
COPY --from=build /out/api /out/worker /out/longhaul /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/data /var/lib/longhaul
USER 65532:65532
WORKDIR /var/lib/longhaul
ENV LONGHAUL_DATA_DIR=/var/lib/longhaul
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD wget -q -O /dev/null http://127.0.0.1:8080/healthz
CMD ["api"]
