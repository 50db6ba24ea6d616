package main

// essay is a title and paragraphs of ASCII text.
type essay struct {
	title      string
	paragraphs []string
}

// report is a title and sections, each with paragraphs and perhaps a table.
type report struct {
	title    string
	sections []section
}

type section struct {
	heading    string
	paragraphs []string
	table      [][]string // the first row is the header
}

var lighthouse = essay{
	title: "How a Small Flame Is Seen at Sea",
	paragraphs: []string{
		"A lamp in a window can be seen a mile away on a clear night. The lamp of a lighthouse must be seen from twenty, in rain, by people who are tired and afraid. For most of history the answer was a larger fire. It was a poor answer, because a fire throws its light in every direction, and nearly all of it is wasted: upwards to the clouds, downwards to the rocks, backwards to the sheep. The art of the lighthouse is not to make more light but to waste less of it.",
		"The first remedy was the mirror. A polished bowl behind the flame turns the light that would go inland and sends it out to sea. Good mirrors doubled and trebled the reach of a lamp, but they were made of copper plated with silver, they stood in smoke and salt, and they had to be polished every day. A keeper who polished well for ten years could count on having worn the silver away.",
		"The second remedy was glass. A thick lens bends light without tarnishing, but a lens large enough for a tower would weigh several tons, crack in the making, and swallow much of the light on its way through. The way out was to notice that only the surface of a lens does the bending. Take away the idle glass from the middle, keep the curved faces, and set them one around the other as rings. What remains is thin, light and clear. Above and below the rings stand prisms, which do not only bend the light but reflect it inside themselves, so that even the rays going to the ceiling come round and leave level with the horizon.",
		"With such an apparatus, eight parts in ten of the flame reach the sea, where a bare lamp sends fewer than two. The whole basket of glass floats on a ring of mercury, so well balanced that a finger can turn it. A weight in the tower, wound up by hand every four hours, drives it round like a clock. Each panel of the lens then sweeps a beam across the water, and the number of panels and the speed of turning give every tower its own rhythm. A sailor who counts two flashes and ten seconds of darkness knows, without a chart lamp, which headland is before him.",
		"The keeper's work followed from the glass. Wicks were trimmed at dusk and again at midnight, since a ragged wick smokes and smoke is darkness. The lens was covered with linen by day, for the same rings that gather the flame will gather the sun, and a lens left bare at noon has set fire to its own tower. Prisms were wiped with spirits of wine and dried with a soft skin, never with the sleeve. And in the log, before sleep, went the hour of lighting, the oil burned, the state of the wind, and anything that had passed.",
		"Electric lamps have made the flame small and steady, and satellites tell ships where they are. The lenses still turn in many towers, not from sentiment, but because nobody has found a better way to let so little light do so much.",
	},
}

var inspection = report{
	title: "Inspection of the Weir Lane Footbridge",
	sections: []section{
		{
			heading: "Summary",
			paragraphs: []string{
				"The footbridge was inspected on foot, from a boat and with a camera on a pole, over two dry days in late September. It carries about nine hundred people a day between the mill quarter and the station. The bridge is safe for its present use. Two defects need repair before winter, and one needs watching. The cost of the repairs is estimated at 18,400, most of it for scaffolding over the water.",
			},
		},
		{
			heading: "The structure",
			paragraphs: []string{
				"The bridge has three spans of riveted steel lattice girder on two stone piers. It was built 112 years ago and was last painted eleven years ago. The deck is of hardwood planks on steel cross beams, with a handrail of later date. The drawings show spans of 14, 22 and 14 metres; the spans as measured agree with them to within 30 millimetres.",
				"No load test was made. The calculation of six years ago, which allows a crowd of four people to each square metre, still holds, since no member has lost more than a twentieth of its section.",
			},
		},
		{
			heading: "Findings",
			paragraphs: []string{
				"Paint is sound on the girders but has failed along the lower flange on the upstream side, where leaves lie and stay wet. Seven rivet heads there have rusted through; neighbouring rivets are tight. At the east pier the mortar is washed out of four courses below the water line, to a depth of up to 120 millimetres. The river bed beside that pier lies 300 millimetres lower than it did six years ago, which points to scour. Eleven deck planks are soft at their ends.",
			},
			table: [][]string{
				{"Part", "Condition", "Action", "By"},
				{"Lower flange, upstream", "Poor", "Replace seven rivets, clean, paint", "November"},
				{"East pier, mortar", "Poor", "Repoint below water", "November"},
				{"River bed, east pier", "Fair", "Sound again after each flood", "Every spring"},
				{"Deck planks", "Fair", "Replace eleven planks", "Next summer"},
				{"Bearings and handrail", "Good", "None", "-"},
			},
		},
		{
			heading: "Recommendations",
			paragraphs: []string{
				"The rivets and the mortar should be repaired under one scaffold, which saves about a third of the cost of doing them apart. The bridge can stay open on one side while the work goes on. Leaves should be swept from the lower flange twice each autumn: this costs little, and would have prevented the worst of the rust.",
				"If the bed at the east pier falls by another 200 millimetres, stone should be placed around the foot of the pier without waiting for the next inspection, which is otherwise due in six years.",
			},
		},
	},
}
