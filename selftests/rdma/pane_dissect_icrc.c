// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A capture: ICRCs, padding and lengths are computed anew, and headers printed
 * that dissectors do not know
 */
#include <stdio.h>
#include <stdlib.h>

#include "../kselftest.h"
#include "pane_dissect.h"

/* The old format, which is what tcpdump writes, in the machine's byte order */
struct pcap_head {
	uint32_t magic;
	uint16_t version[2];
	uint32_t zone, accuracy, snaplen, link;
};

struct pcap_packet {
	uint32_t sec, usec;
	uint32_t len, orig_len;
};

#define PCAP_MAGIC	0xa1b2c3d4

static FILE *capture_open(const char *name)
{
	FILE *f = fopen(name, "r");
	struct pcap_head head;

	if (!f || fread(&head, sizeof(head), 1, f) != 1 ||
	    head.magic != PCAP_MAGIC) {
		fprintf(stderr, "%s: no capture\n", name);
		exit(KSFT_FAIL);
	}
	return f;
}

/* The next frame, or false; @what: as of frame_read() */
static bool capture_next(FILE *f, struct seen *seen, const char **what)
{
	uint8_t frame[FRAME_MAX];
	struct pcap_packet head;

	if (fread(&head, sizeof(head), 1, f) != 1)
		return false;
	if (head.len > sizeof(frame) || head.len != head.orig_len ||
	    fread(frame, 1, head.len, f) != head.len) {
		printf("a frame is cut: %u of %u bytes\n", head.len,
		       head.orig_len);
		exit(KSFT_FAIL);
	}
	*what = frame_read(frame, head.len, seen);
	return true;
}

/* Headers behind the BTH of frames that dissectors read no further than that */
int read_headers(const char *name)
{
	FILE *f = capture_open(name);
	struct seen seen;
	const char *what;

	while (capture_next(f, &seen, &what))
		if (!what)
			print_headers(&seen);
	fclose(f);
	return KSFT_PASS;
}

/* Frames of RoCE that are not in order; fails when there is none at all */
int check_icrc(const char *name)
{
	unsigned int num = 0, good = 0, bad = 0;
	FILE *f = capture_open(name);
	struct seen seen;
	const char *what;

	while (capture_next(f, &seen, &what)) {
		num++;
		if (what && *what)
			printf("frame %u: %s\n", num, what);
		good += !what;
		bad += what && *what;
	}
	fclose(f);
	printf("%u frames, %u good, %u bad\n", num, good, bad);
	return good && !bad ? KSFT_PASS : KSFT_FAIL;
}
