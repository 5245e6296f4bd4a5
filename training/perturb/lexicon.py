"""Words that can stand in each other's place in a sentence and never mean the same.

One class between semicolons, all in one grammatical form, so that a sentence stays one. Both sides are in common use: a word
that explanations never hold (`departs from`) would tell a planted error by itself.
"""

from typing import Literal

LOOKS = """
red | blue | green | yellow | white | black | pink | orange | purple | brown | gray; bright | dark;
brighter | darker; transparent | opaque; left | right; top | bottom; upper | lower; above | below; front | back;
inside | outside; inner | outer; upward | downward; upwards | downwards; vertical | horizontal; vertically | horizontally;
north | south; northern | southern; eastern | western; clockwise | counterclockwise; forward | backward; inward | outward;
toward | away from; towards | away from; large | small; larger | smaller; largest | smallest; long | short;
longer | shorter; wide | narrow; thick | thin; big | tiny;
square | circular | rectangular | triangular | cylindrical | spherical; straight | curved; fast | slow; faster | slower;
quickly | slowly; rapid | gradual; rapidly | gradually; open | closed; opens | closes; opening | closing; full | empty;
man | woman; boy | girl; hand | foot | knee | elbow; head | chest | abdomen; metal | plastic | wooden | glass;
copper | aluminum | iron | steel | zinc | silver; sheet | rod | block | ball | ring | plate; two | three | four | five | six;
seven | eight | nine | ten; first | second | third | fourth | final; once | twice; rises | falls; rise | fall;
rising | falling; expands | contracts; expanding | contracting; appear | disappear; appears | disappears;
liquid | solid | gas; water | oil | alcohol | air; soft | hard; initial | final; initially | finally; beginning | end;
bubbles | crystals | droplets; before | after; increases | decreases | remains constant; vibration | rotation;
earlier | later
"""

TERMS = """
increase | decrease; increased | decreased; increasing | decreasing; high | low; higher | lower; highest | lowest;
maximum | minimum; maximize | minimize; greater | smaller; greatest | smallest; more | less; strong | weak;
stronger | weaker; enhance | reduce | maintain; enhances | reduces | maintains; enhancing | reducing | maintaining;
enhanced | reduced | maintained; positive | negative; positively | negatively; hot | cold; hotter | colder;
heating | cooling; warm | cool; warmer | cooler;
kinetic energy | potential energy | thermal energy | chemical energy | electrical energy | mechanical energy;
magnetic field | electric field | gravitational field;
magnetic force | electric force | centripetal force | frictional force;
thermal | mechanical | electrical | optical | acoustic; static | dynamic; linear | angular; elastic | plastic;
series | parallel; conductive | insulating; input | output; analog | digital; amplitude | frequency | phase | wavelength;
voltage | current | resistance | impedance; capacitor | inductor | resistor | transistor; capacitance | inductance;
anode | cathode; force | torque | pressure | weight; velocity | acceleration | displacement;
speed | mass | volume | distance; density | viscosity; length | height | width; temperature | humidity | pressure;
friction | gravity | tension | inertia | buoyancy; stress | strain; tension | compression;
reflection | refraction | diffraction | interference | dispersion; absorb | emit | reflect; absorbs | emits | reflects;
absorption | emission | reflection; exothermic | endothermic; oxidation | reduction; acid | base;
acidic | basic | alkaline | neutral;
hydrogen | oxygen | nitrogen | carbon | chlorine | sodium | potassium | calcium | magnesium; ionic | covalent;
proton | neutron | electron; protons | neutrons | electrons | photons; atoms | ions | molecules; organic | inorganic;
physical | chemical; melting | freezing | boiling; evaporation | condensation | sublimation; artery | vein | nerve;
arteries | veins | nerves; systolic | diastolic; anterior | posterior; dorsal | ventral; medial | lateral;
proximal | distal; superior | inferior; acute | chronic; bacterial | viral | fungal; bacteria | viruses | fungi | parasites;
heart | liver | kidney | lung | stomach; brain | muscle | bone | skin; cardiac | hepatic | renal | pulmonary;
sensory neurons | motor neurons;
sympathetic | parasympathetic; excitatory | inhibitory; activates | inhibits; activation | inhibition;
stimulates | inhibits; promotes | inhibits; promote | inhibit; promoting | inhibiting; intracellular | extracellular;
DNA | RNA | mRNA; transcription | translation | replication; proteins | lipids | carbohydrates; protein | lipid | glucose;
enzyme | hormone | antibody | receptor; enzymes | hormones | antibodies | receptors; dominant | recessive; supply | demand;
buyer | seller; buyers | sellers; profit | loss; revenue | cost; imports | exports; domestic | foreign; public | private;
formal | informal; active | passive; primary | secondary; direct | indirect; directly | indirectly; internal | external;
local | global; natural | artificial; single | multiple; simple | complex; symmetric | asymmetric; uniform | uneven;
stability | instability; improve | worsen; improves | worsens; improving | worsening; reduce | increase;
reduces | increases; reducing | increasing; reduced | increased; gain | loss; growth | decline; attract | repel;
attraction | repulsion; push | pull; row | column; node | edge; nodes | edges; root | leaf; parent | child; stack | queue;
ascending | descending; depth-first | breadth-first; parallel | perpendicular; real | virtual; convex | concave;
visible | invisible; modern | ancient | traditional; solar | lunar; strength | weakness; permanent | temporary;
radius | diameter; production | consumption; release | uptake; signal | noise; waves | particles; light | sound | heat;
day | night; sun | moon; planet | star; patient | doctor; conventional | modern; expansion | contraction;
temporal | spatial; time | space; theoretical | practical; dry | wet; soil | rock; ice | steam; export | import;
muscle | tendon | ligament; joint | muscle | nerve; cells | tissues | organs; gene | protein | enzyme;
ultraviolet | infrared; longitudinal | transverse; convection | conduction | radiation; potential | kinetic;
tensile | compressive | shear
"""

LOGIC = """
because | although; because of | despite; due to | despite; leads to | results from; leading to | resulting from;
causes | prevents; causing | preventing; cause | prevent; allows | prevents; allowing | preventing; allow | prevent;
causing | avoiding; always | never; all | some; often | rarely; including | excluding; similar to | different from;
the same | a different; same | different; possible | impossible; suitable | unsuitable; effective | ineffective;
able | unable; appropriate | inappropriate; correct | incorrect; true | false; related | unrelated;
sufficient | insufficient; greater than | less than; more than | less than
"""


Block = Literal["looks", "terms", "logic"]
"""Attributes that anyone can see; words of a field; what ties statements together."""


def classes() -> dict[str, list[tuple[Block, str]]]:
    """By word, the other words of each of its classes, with the name of the block: (`looks`, `blue`)."""
    found: dict[str, list[tuple[Block, str]]] = {}
    blocks: dict[Block, str] = {"looks": LOOKS, "terms": TERMS, "logic": LOGIC}
    for name, block in blocks.items():
        for one in block.split(";"):
            words = [word.strip() for word in one.split("|")]
            for word in words:
                found.setdefault(word, []).extend((name, other) for other in words if other != word)
    return found
