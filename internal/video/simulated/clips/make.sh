#!/bin/sh
# Makes the clips: sh make.sh, with ffmpeg 5.0 or later (Debian: apt-get install ffmpeg). A disc swings, and a white bar below
# grows to full width. A clip lasts 1 s of 120,000,000 ticks, so that another time scale alone gives it another length.
set -eu
cd "$(dirname "$0")"

clip() { # name, size
	ffmpeg -loglevel error -y -f lavfi -i "color=size=$2:rate=48:duration=1,format=yuv420p,geq=\
lum='if(gte(Y,H-6)*lt(X,W*(N+1)/48),235,if(lt(hypot(X-W/2-W/4*sin(N*PI/24),Y-H/2),min(W,H)/6),225,40+60*(X+Y)/(W+H)))':\
cb='if(gte(Y,H-3),128,110+40*X/W)':cr='if(gte(Y,H-3),128,150-40*Y/H)'" \
		-c:v libx264 -profile:v baseline -preset veryslow -crf 34 -g 24 -pix_fmt yuv420p -bsf:v filter_units=remove_types=6 \
		-flags +bitexact -fflags +bitexact -map_metadata -1 \
		-movie_timescale 120000000 -video_track_timescale 120000000 -movflags +faststart "$1.mp4"
}

clip wide 320x180
clip tall 180x320
clip square 240x240
